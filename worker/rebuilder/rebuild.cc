#include "worker/rebuilder/rebuild.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <optional>

#include "manifest/base/file.h"
#include "manifest/tuning/entries.h"
#include "storage/action/compiler_action.h"
#include "storage/blob/local_blob_store.h"
#include "storage/blob/overlay_blob_store.h"
#include "storage/oci/oci_export.h"
#include "storage/tree/tree_builder.h"
#include "storage/tree/tree_walk.h"
#include "worker/executor/executor.h"
#include "worker/sandbox/outputs.h"
#include "worker/sandbox/probe.h"
#include "worker/sandbox/uid_range.h"

namespace kiln::rebuilder {
namespace {

constexpr char kInstance[] = "rebuild";
constexpr char kOutput[] = "output/";
constexpr std::size_t kKeptLog = 16 << 10;

Json blobJson(const Digest& digest) {
  return {{"digest", digest.text()}, {"size", std::to_string(digest.size)}};
}

Json filesJson(const std::vector<ModelFile>& files) {
  Json list = Json::array();
  for (const ModelFile& file : files) {
    Json json = blobJson(file.digest);
    json["path"] = file.path;
    list.push_back(std::move(json));
  }
  return list;
}

Json actionJson(const RebuiltAction& action) {
  return {{"action", blobJson(action.action)},
          {"exitCode", action.exitCode},
          {"log", action.log},
          {"outputs", filesJson(action.outputs)}};
}

// A directory that goes with this object.
class State {
 public:
  static Result<State> make(const std::string& path) {
    if (::mkdir(path.c_str(), 0700) != 0) return fail(errnoError(errno, path));
    return State(path);
  }
  State(State&& other) noexcept : path_(std::exchange(other.path_, {})) {}
  State& operator=(State&&) = delete;
  ~State() {
    if (!path_.empty()) (void)sandbox::removeTree(path_);
  }

 private:
  explicit State(std::string path) : path_(std::move(path)) {}
  std::string path_;
};

struct Confined {
  std::optional<sandbox::UidRange> uids;
  std::unique_ptr<sandbox::Sandbox> sandbox;
};

Result<Confined> makeSandbox() {
  Confined out;
  sandbox::Host host = sandbox::Host::detect();
  if (::geteuid() == 0) {
    KILN_ASSIGN(out.uids, sandbox::UidRange::claim());
    host.uidBase = out.uids->base();
  }
  KILN_ASSIGN(auto made, sandbox::Sandbox::make(sandbox::compilePolicy(), host));
  out.sandbox = std::make_unique<sandbox::Sandbox>(std::move(made));
  const sandbox::Probe probe = sandbox::probe(*out.sandbox);
  if (!probe.usable())
    return fail(Code::kFailedPrecondition,
                "no sandbox, no rebuild: a result from outside one would prove nothing\n" + probe.text());
  return out;
}

// The spec's toolchain without the files that the export says it left out and that are not there. The digest
// of the tree that is run; `absent` gets what is missing from it.
Result<Digest> usableToolchain(storage::BlobStore& store, const Digest& toolchain,
                               const std::vector<ModelFile>& omitted, std::vector<ModelFile>& absent) {
  if (omitted.empty()) return toolchain;
  auto entries = storage::walkTree(store, kInstance, toolchain);
  if (!entries) return fail(entries.error().in("toolchain"));
  storage::TreeBuilder builder;
  for (const storage::TreeEntry& entry : *entries) {
    if (entry.kind == storage::EntryKind::kDirectory) KILN_TRY(builder.addDirectory(entry.path));
    if (entry.kind == storage::EntryKind::kSymlink) KILN_TRY(builder.addSymlink(entry.path, entry.target));
    if (entry.kind != storage::EntryKind::kFile) continue;
    const ModelFile file{entry.path, entry.digest};
    if (std::find(omitted.begin(), omitted.end(), file) != omitted.end()) {
      KILN_ASSIGN(const bool there, storage::hasBlob(store, kInstance, entry.digest));
      if (!there) {
        absent.push_back(file);
        continue;
      }
    }
    KILN_TRY(builder.addFile(entry.path, entry.digest, entry.executable));
  }
  if (absent.empty()) return toolchain;
  const storage::BuiltTree reduced = builder.build();
  KILN_TRY(storage::uploadMissing(store, kInstance, reduced.directories));
  return reduced.root;
}

// The blobs of an action that the export should hold, named before anything is run.
Status checkInputs(storage::BlobStore& store, const CompileSpec& spec, const Digest& toolchain) {
  std::vector<ModelFile> files = spec.files;
  if (spec.tuning) files.push_back({kTuningEntriesFile, *spec.tuning});
  std::vector<Digest> wanted;
  for (const ModelFile& file : files) wanted.push_back(file.digest);
  KILN_ASSIGN(const auto missing, store.findMissing(kInstance, wanted));
  for (const ModelFile& file : files)
    if (std::find(missing.begin(), missing.end(), file.digest) != missing.end())
      return fail(Code::kNotFound, "the export lacks " + file.path + " (" + file.digest.text() +
                                       "); kiln export --with-inputs writes what a rebuild needs");
  auto lacking = storage::findMissingInTree(store, kInstance, toolchain);
  if (!lacking) return fail(lacking.error().in("toolchain"));
  if (!lacking->empty())
    return fail(Code::kNotFound, "the export lacks " + std::to_string(lacking->size()) +
                                     " blobs of the toolchain, the first is " + lacking->front().text() +
                                     "; kiln export --with-inputs writes what a rebuild needs");
  return {};
}

Status writeOutputs(storage::BlobStore& store, const std::vector<ModelFile>& outputs,
                    const std::string& directory) {
  KILN_TRY(makeDirectory(directory, 0755));
  for (const ModelFile& file : outputs) {
    const std::filesystem::path path = std::filesystem::path(directory) / file.path;
    std::error_code error;
    std::filesystem::create_directories(path.parent_path(), error);
    if (error) return fail(errnoError(error.value(), path.parent_path().string()));
    KILN_TRY(storage::getFile(store, kInstance, file.digest, path.string()));
  }
  return {};
}

Result<RebuiltAction> runAgain(executor::Executor& executor, storage::BlobStore& store,
                               storage::CompilerVerb verb, const CompileSpec& spec, const Digest& toolchain,
                               const std::string& out) {
  RebuiltAction again;
  KILN_ASSIGN(const storage::BuiltAction defined, storage::buildAction(verb, spec));
  again.action = defined.action;
  KILN_ASSIGN(const storage::BuiltAction run, storage::buildActionWith(toolchain, verb, spec));
  KILN_TRY(storage::uploadMissing(store, kInstance, run.blobs));
  executor::ActionRequest request;
  request.instance = kInstance;
  request.action = run.action;
  KILN_ASSIGN(const reapi::ActionResult result, executor.run(request));
  again.exitCode = result.exit_code();
  again.log = result.stderr_raw();
  if (again.log.size() > kKeptLog) again.log.erase(0, again.log.size() - kKeptLog);
  for (const auto& file : result.output_files()) {
    KILN_ASSIGN(const Digest digest, fromProto(file.digest()));
    again.outputs.push_back({file.path().substr(sizeof kOutput - 1), digest});
  }
  std::sort(again.outputs.begin(), again.outputs.end(),
            [](const ModelFile& a, const ModelFile& b) { return a.path < b.path; });
  KILN_TRY(writeOutputs(store, again.outputs, out));
  return again;
}

}  // namespace

Json Rebuilt::toJson() const {
  return {{"absent", filesJson(absent)},
          {"compile", actionJson(compile)},
          {"reference", actionJson(reference)},
          {"sandboxPolicy", blobJson(sandboxPolicy)}};
}

Result<Rebuilt> rebuild(const RebuildRequest& request) {
  KILN_ASSIGN(const Confined confined, makeSandbox());
  KILN_ASSIGN(const auto layout, storage::OciLayoutStore::open(request.layout));
  KILN_ASSIGN(const storage::OciExport offered, storage::readExport(*layout));
  if (!offered.closure)
    return fail(Code::kNotFound,
                "the export has no inputs to rebuild from; kiln export --with-inputs adds them");
  KILN_ASSIGN(const State state, State::make(request.state));
  storage::LocalBlobStoreOptions local;
  local.directory = request.state + "/store";
  KILN_ASSIGN(const auto written, storage::LocalBlobStore::open(local));
  storage::OverlayBlobStore store(*written, *layout);

  Rebuilt out;
  KILN_ASSIGN(out.sandboxPolicyText, toCanonicalJson(confined.sandbox->policy().toJson()));
  out.sandboxPolicy = digestOf(out.sandboxPolicyText);
  KILN_ASSIGN(const Digest toolchain,
              usableToolchain(store, request.spec.toolchainDigest, offered.closure->omitted, out.absent));
  KILN_TRY(checkInputs(store, request.spec, toolchain));
  KILN_ASSIGN(const auto executor,
              executor::Executor::make(store, *confined.sandbox, request.state + "/actions"));
  KILN_ASSIGN(out.compile, runAgain(*executor, store, storage::CompilerVerb::kCompile, request.spec,
                                    toolchain, request.out + "/compile"));
  if (out.compile.exitCode != 0) return out;
  KILN_ASSIGN(out.reference,
              runAgain(*executor, store, storage::CompilerVerb::kReference,
                       storage::referenceSpec(request.spec), toolchain, request.out + "/reference"));
  return out;
}

}  // namespace kiln::rebuilder
