#include "worker/executor/action_plan.h"

#include <algorithm>
#include <charconv>
#include <set>

#include "manifest/base/printable.h"
#include "manifest/spec/path.h"
#include "storage/action/timeout.h"

namespace kiln::executor {
namespace {

constexpr const char* kToolchain = "toolchain";
constexpr const char* kRootProperty = "kiln-root";
constexpr std::string_view kSha256 = "sha256:";
constexpr int kMaxOutputs = 4096;
constexpr std::ptrdiff_t kMaxSegments = 64;  // of a path: as deep as an input tree may be

using Wanted = PlannedOutput::Wanted;

tl::unexpected<Error> invalid(const std::string& why) {
  return fail(Code::kInvalidArgument, "command: " + why);
}

bool hasNul(const std::string& text) {
  return text.find('\0') != std::string::npos;
}

// `inOrder`: as REAPI wants them. Foreign clients get them wrong, and it makes no difference to a program.
Status takeEnvironment(const reapi::Command& command, bool inOrder, ActionPlan& plan) {
  std::string previous;
  std::set<std::string_view> seen;
  for (const auto& variable : command.environment_variables()) {
    const std::string& name = variable.name();
    if (name.empty() || name.find('=') != std::string::npos || hasNul(name) || hasNul(variable.value()))
      return invalid("a malformed environment variable");
    if (inOrder && !previous.empty() && previous >= name)
      return invalid("environment variables are not sorted");
    if (!seen.insert(name).second)
      return invalid("the environment variable " + printable(name, 80) + " is there twice");
    previous = name;
    plan.environment.emplace_back(name, variable.value());
  }
  return {};
}

Status takeArguments(const reapi::Command& command, ActionPlan& plan) {
  if (command.arguments().empty()) return invalid("no arguments");
  if (std::ranges::any_of(command.arguments(), hasNul)) return invalid("a NUL in an argument");
  plan.arguments.assign(command.arguments().begin(), command.arguments().end());
  return {};
}

Status checkPath(const std::string& path, const char* what) {
  if (auto safe = checkRelativePath(path); !safe)
    return invalid(std::string(what) + " " + inQuotes(path) + ": " + safe.error().message);
  if (std::ranges::count(path, '/') >= kMaxSegments)
    return invalid(std::string(what) + " " + inQuotes(path) + ": deeper than 64 directories");
  return {};
}

// The one plain directory that a compiler's action writes to.
Status takeOutputDirectory(const reapi::Command& command, ActionPlan& plan) {
  if (command.output_paths_size() != 1) return invalid("exactly one output path is served");
  const std::string& output = command.output_paths(0);
  if (output.empty() || output == "." || output == ".." || output == kToolchain ||
      !std::ranges::all_of(output, [](char c) { return isalnum(static_cast<unsigned char>(c)) || c == '_'; }))
    return invalid("the output path must be one plain directory name");
  plan.outputs = {{output, output, Wanted::kDirectory}};
  return {};
}

template <class Paths>
Status takeOutputs(const Paths& paths, Wanted wanted, std::set<std::string>& seen, ActionPlan& plan) {
  for (const std::string& path : paths) {
    // REAPI: the empty path is the working directory, where a directory may be.
    if (!path.empty()) KILN_TRY(checkPath(path, "the output path"));
    if (path.empty() && wanted == Wanted::kFile) return invalid("an output file without a name");
    if (!seen.insert(path).second) return invalid("the output path " + inQuotes(path) + " is there twice");
    if (seen.size() > kMaxOutputs) return invalid("more than 4096 output paths");
    const bool isBelow = !plan.workingDirectory.empty() && !path.empty();
    plan.outputs.push_back({path, plan.workingDirectory + (isBelow ? "/" : "") + path, wanted});
  }
  return {};
}

// REAPI: where output_paths is used, the older two are ignored.
Status takeAllOutputs(const reapi::Command& command, ActionPlan& plan) {
  std::set<std::string> seen;
  if (!command.output_paths().empty())
    return takeOutputs(command.output_paths(), Wanted::kAnything, seen, plan);
  KILN_TRY(takeOutputs(command.output_files(), Wanted::kFile, seen, plan));
  return takeOutputs(command.output_directories(), Wanted::kDirectory, seen, plan);
}

// "sha256:HEX/SIZE"; nothing for any other text.
std::optional<Digest> parseTree(std::string_view text) {
  const std::size_t slash = text.find('/');
  if (!text.starts_with(kSha256) || slash == std::string_view::npos) return std::nullopt;
  const std::string_view digits = text.substr(slash + 1);
  std::uint64_t size = 0;
  const auto read = std::from_chars(digits.data(), digits.data() + digits.size(), size);
  if (digits.empty() || read.ec != std::errc() || read.ptr != digits.data() + digits.size())
    return std::nullopt;
  const auto digest = Digest::parse(text.substr(0, slash), size);
  return digest ? std::optional(*digest) : std::nullopt;
}

// What the action says of its root tree must be what the lease says: a label that the coordinator resolved,
// or the tree itself.
Result<std::optional<Digest>> rootOf(const reapi::Action& action, const reapi::Command& command,
                                     const std::optional<Digest>& leased) {
  const auto& platform = action.has_platform() ? action.platform() : command.platform();
  const auto property = std::ranges::find(platform.properties(), kRootProperty,
                                          [](const auto& one) -> const std::string& { return one.name(); });
  if (property == platform.properties().end()) {
    if (leased) return fail(Code::kInvalidArgument, "action: the lease names a root tree, the action none");
    return std::nullopt;
  }
  const auto stated = parseTree(property->value());
  if (stated && leased && *stated != *leased)
    return fail(Code::kInvalidArgument, "action: the lease names another root tree than the action");
  if (!stated && !leased)
    return fail(Code::kInvalidArgument,
                "action: kiln-root " + inQuotes(property->value()) +
                    " is no tree (sha256:HEX/SIZE), and the lease resolves it to none");
  return stated ? stated : leased;
}

Result<ActionPlan> planForeign(const reapi::Action& action, const reapi::Command& command,
                               const std::optional<Digest>& root, ActionPlan plan) {
  KILN_TRY(takeArguments(command, plan));
  KILN_TRY(takeEnvironment(command, false, plan));
  plan.workingDirectory = command.working_directory();
  if (!plan.workingDirectory.empty()) KILN_TRY(checkPath(plan.workingDirectory, "the working directory"));
  KILN_TRY(takeAllOutputs(command, plan));
  if (!reapi::Command::OutputDirectoryFormat_IsValid(command.output_directory_format()))
    return invalid("an output directory format that nobody knows");
  plan.directories = command.output_directory_format();
  KILN_ASSIGN(plan.root, rootOf(action, command, root));
  return plan;
}

Result<ActionPlan> planCompiler(const reapi::Command& command, ActionPlan plan) {
  KILN_TRY(takeArguments(command, plan));
  if (!command.working_directory().empty())
    return invalid("a working directory other than the root is not served");
  KILN_TRY(takeOutputDirectory(command, plan));
  KILN_TRY(takeEnvironment(command, true, plan));
  plan.cached = kToolchain;
  return plan;
}

}  // namespace

Result<ActionPlan> planAction(const reapi::Action& action, const reapi::Command& command, Profile profile,
                              const std::optional<Digest>& root) {
  ActionPlan plan;
  plan.profile = profile;
  KILN_ASSIGN(plan.inputRoot, fromProto(action.input_root_digest()));
  plan.timeout = storage::timeoutOf(action);
  if (profile == Profile::kForeign) return planForeign(action, command, root, std::move(plan));
  return planCompiler(command, std::move(plan));
}

}  // namespace kiln::executor
