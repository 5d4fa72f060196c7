#include "signing/server/action_check.h"

#include <algorithm>
#include <map>

#include "build/bazel/remote/execution/v2/remote_execution.pb.h"
#include "manifest/tuning/entries.h"
#include "signing/server/closure.h"

namespace kiln::signing {
namespace {

namespace reapi = ::build::bazel::remote::execution::v2;

constexpr std::uint64_t kMaxMessageBytes = 4u << 20;
constexpr int kMaxDepth = 32;
constexpr std::size_t kMaxDirectories = 4096;
constexpr char kCompiler[] = "toolchain/bin/kiln-cc";

tl::unexpected<Error> refused(const std::string& why) {
  return fail(Code::kFailedPrecondition, "action: " + why);
}

Result<Digest> digestFrom(const reapi::Digest& message) {
  if (message.size_bytes() < 0 || message.hash().size() != 64) return refused("holds a malformed digest");
  return Digest::parse(message.hash(), static_cast<std::uint64_t>(message.size_bytes()));
}

class Checker {
 public:
  Checker(storage::BlobStore& store, const std::string& instance) : store_(store), instance_(instance) {}

  template <class Message>
  Result<Message> load(const Digest& digest, const char* what) {
    KILN_ASSIGN(std::string bytes, loadBlob(store_, instance_, digest, kMaxMessageBytes, what));
    Message message;
    if (!message.ParseFromString(bytes)) return refused(std::string(what) + " does not parse");
    return message;
  }

  // All files below a directory, by path.
  Status list(const Digest& digest, const std::string& prefix, int depth,
              std::map<std::string, Digest>& files) {
    if (depth > kMaxDepth || ++directories_ > kMaxDirectories) return refused("its input tree is too large");
    KILN_ASSIGN(auto directory, load<reapi::Directory>(digest, "input directory"));
    if (directory.symlinks_size() > 0) return refused("its input tree holds symbolic links");
    for (const auto& file : directory.files()) {
      KILN_ASSIGN(files[prefix + file.name()], digestFrom(file.digest()));
    }
    for (const auto& child : directory.directories()) {
      KILN_ASSIGN(Digest below, digestFrom(child.digest()));
      KILN_TRY(list(below, prefix + child.name() + "/", depth + 1, files));
    }
    return {};
  }

 private:
  storage::BlobStore& store_;
  const std::string& instance_;
  std::size_t directories_ = 0;
};

Status checkCommand(const reapi::Command& command, const std::vector<std::string>& wanted, const char* what) {
  if (!std::equal(wanted.begin(), wanted.end(), command.arguments().begin(), command.arguments().end()))
    return refused(std::string("its command is not ") + what);
  if (!command.working_directory().empty() || command.output_paths_size() != 1 ||
      command.output_paths(0) != "output")
    return refused("its outputs are not in output/");
  return {};
}

// "emulation/<hex>.so": the code that an emulated device runs in the place of that layer of the artifact.
bool standsForLayer(const std::string& path, const Closure& closure) {
  return std::ranges::any_of(closure.oci.layers, [&](const ArtifactFile& layer) {
    return path == "emulation/" + layer.digest.hex() + ".so";
  });
}

// What an action of kiln-cc sees.
struct Inputs {
  Digest toolchainDigest;
  std::map<std::string, Digest> files;  // of input/
};

Result<Inputs> readInputs(Checker& checker, const reapi::Action& action) {
  KILN_ASSIGN(Digest rootDigest, digestFrom(action.input_root_digest()));
  KILN_ASSIGN(auto root, checker.load<reapi::Directory>(rootDigest, "input root"));
  bool shape = root.files_size() == 0 && root.symlinks_size() == 0 && root.directories_size() == 2 &&
               root.directories(0).name() == "input" && root.directories(1).name() == "toolchain";
  if (!shape) return refused("its input root is not input/ and toolchain/");
  Inputs inputs;
  KILN_ASSIGN(inputs.toolchainDigest, digestFrom(root.directories(1).digest()));
  KILN_ASSIGN(Digest input, digestFrom(root.directories(0).digest()));
  KILN_TRY(checker.list(input, "", 0, inputs.files));
  return inputs;
}

// `out`: what the compile's arguments say of its outputs.
Status checkCompile(storage::BlobStore& store, const std::string& instance, const Digest& actionDigest,
                    const CompileSpec& spec, const std::vector<std::string>& out) {
  Checker checker(store, instance);
  KILN_ASSIGN(auto action, checker.load<reapi::Action>(actionDigest, "action"));
  KILN_ASSIGN(Digest commandDigest, digestFrom(action.command_digest()));
  KILN_ASSIGN(auto command, checker.load<reapi::Command>(commandDigest, "command"));
  std::vector<std::string> arguments{kCompiler, "compile",        "--model", "input/" + spec.files[0].path,
                                     "--spec",  "input/spec.json"};
  arguments.insert(arguments.end(), out.begin(), out.end());
  if (spec.tuning)
    arguments.insert(arguments.end(), {"--tuning", std::string("input/") + kTuningEntriesFile});
  KILN_TRY(checkCommand(command, arguments, "the compile of this model"));
  KILN_ASSIGN(const Inputs inputs, readInputs(checker, action));
  if (inputs.toolchainDigest != spec.toolchainDigest)
    return refused("ran another toolchain, " + inputs.toolchainDigest.text());
  std::map<std::string, Digest> wanted;
  KILN_ASSIGN(std::string specText, toCanonicalJson(spec.toJson()));
  wanted["spec.json"] = digestOf(specText);
  for (const ModelFile& file : spec.files) wanted[file.path] = file.digest;
  if (spec.tuning) wanted[kTuningEntriesFile] = *spec.tuning;
  if (inputs.files != wanted) return refused("its input/ does not hold exactly the spec and its files");
  return {};
}

}  // namespace

Status checkAction(storage::BlobStore& store, const std::string& instance, const Digest& action,
                   const CompileSpec& spec) {
  return checkCompile(store, instance, action, spec, {"--out", "output"});
}

Status checkIrAction(storage::BlobStore& store, const std::string& instance, const Digest& action,
                     const CompileSpec& spec) {
  return checkCompile(store, instance, action, spec, {"--out", "output/artifact", "--emit-ir", "output/ir"});
}

Status checkCheckAction(storage::BlobStore& store, const std::string& instance, const Digest& actionDigest,
                        const Closure& closure, const Digest& plan, bool emulated) {
  Checker checker(store, instance);
  KILN_ASSIGN(auto action, checker.load<reapi::Action>(actionDigest, "action"));
  KILN_ASSIGN(Digest commandDigest, digestFrom(action.command_digest()));
  KILN_ASSIGN(auto command, checker.load<reapi::Command>(commandDigest, "command"));
  KILN_TRY(checkCommand(
      command, {"kiln-check", "--artifact", "artifact", "--plan", "plan/check.json", "--out", "output"},
      "a check"));
  KILN_ASSIGN(Digest rootDigest, digestFrom(action.input_root_digest()));
  std::map<std::string, Digest> files;
  KILN_TRY(checker.list(rootDigest, "", 0, files));
  auto takes = [&](const std::string& path, const Digest& digest) {
    auto found = files.find(path);
    const bool same = found != files.end() && found->second == digest;
    if (same) files.erase(found);
    return same;
  };
  bool same = takes("artifact/manifest.json", closure.oci.config) && takes("plan/check.json", plan);
  for (const ArtifactFile& layer : closure.oci.layers)
    same = same && takes("artifact/" + layer.path, layer.digest);
  if (!same) return refused("it does not check this artifact with this plan");
  for (const auto& [path, digest] : files)
    if (!path.starts_with("artifact/fixtures/") && !path.starts_with("plan/") &&
        !(emulated && standsForLayer(path, closure)))
      return refused("its input root holds " + path + " besides the artifact, its fixtures and the plan");
  return {};
}

Status checkTuneAction(storage::BlobStore& store, const std::string& instance, const Digest& actionDigest,
                       const Digest& plan) {
  Checker checker(store, instance);
  KILN_ASSIGN(auto action, checker.load<reapi::Action>(actionDigest, "action"));
  KILN_ASSIGN(Digest commandDigest, digestFrom(action.command_digest()));
  KILN_ASSIGN(auto command, checker.load<reapi::Command>(commandDigest, "command"));
  std::vector<std::string> arguments{
      kCompiler, "tune", "--plan", "input/plan", "--spec", "input/spec.json", "--out", "output/record.json",
      "--budget"};
  const auto last = static_cast<int>(arguments.size());
  arguments.push_back(command.arguments_size() > last ? command.arguments(last) : "");  // any budget will do
  KILN_TRY(checkCommand(command, arguments, "the tuning of a plan"));
  KILN_ASSIGN(const Inputs inputs, readInputs(checker, action));
  const auto found = inputs.files.find("plan/plan.json");
  if (found == inputs.files.end() || found->second != plan) return refused("it does not tune this plan");
  return {};
}

}  // namespace kiln::signing
