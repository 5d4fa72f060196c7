#include "worker/executor/executor.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>

#include "worker/executor/host_parts.h"
#include "worker/executor/input_root.h"
#include "worker/executor/output_upload.h"
#include "worker/executor/prepared_slot.h"
#include "worker/executor/termination.h"
#include "worker/sandbox/outputs.h"

namespace kiln::executor {
namespace {

constexpr std::uint64_t kMaxMessage = 1 << 20;  // of an Action or a Command
constexpr const char* kRoot = "/work";          // where the input root appears
constexpr const char* kToolchain = "toolchain";

template <class Message>
Result<Message> fetchMessage(storage::BlobStore& store, const std::string& instance, const Digest& digest,
                             const char* what) {
  const auto bytes = storage::getBlob(store, instance, digest, kMaxMessage);
  if (!bytes) return fail(bytes.error().in(what));
  Message message;
  if (!message.ParseFromString(*bytes))
    return fail(Code::kInvalidArgument, std::string(what) + ": not a message");
  return message;
}

Status checkCommand(const reapi::Command& command) {
  const auto invalid = [](const std::string& why) { return fail(Code::kInvalidArgument, "command: " + why); };
  if (command.arguments().empty()) return invalid("no arguments");
  if (!command.working_directory().empty())
    return invalid("a working directory other than the root is not served");
  if (command.output_paths_size() != 1) return invalid("exactly one output path is served");
  const std::string& output = command.output_paths(0);
  if (output.empty() || output == "." || output == ".." || output == kToolchain ||
      !std::all_of(output.begin(), output.end(),
                   [](char c) { return isalnum(static_cast<unsigned char>(c)) || c == '_'; })) {
    return invalid("the output path must be one plain directory name");
  }
  const auto hasNul = [](const std::string& text) { return text.find('\0') != std::string::npos; };
  if (std::any_of(command.arguments().begin(), command.arguments().end(), hasNul))
    return invalid("a NUL in an argument");
  std::string previous;
  for (const auto& variable : command.environment_variables()) {
    const std::string& name = variable.name();
    if (name.empty() || name.find('=') != std::string::npos || hasNul(name) || hasNul(variable.value())) {
      return invalid("a malformed environment variable");
    }
    if (!previous.empty() && previous >= name) return invalid("environment variables are not sorted");
    previous = name;
  }
  return {};
}

// A directory in the finished input root for the output to be mounted on.
Status addMountPoint(const std::string& root, const std::string& name) {
  if (chmod(root.c_str(), 0755) != 0) return fail(errnoError(errno, "slot directory"));
  if (access((root + "/" + name).c_str(), F_OK) == 0)
    return fail(Code::kInvalidArgument, "input tree: " + name + " is the output directory");
  KILN_TRY(makeDirectory(root + "/" + name, 0555));
  if (chmod(root.c_str(), 0555) != 0) return fail(errnoError(errno, "slot directory"));
  return setOldTime(root);
}

// Removes all but the file `name`. False if there is none.
bool keepOnly(const std::string& directory, const std::string& name) {
  std::error_code error;
  if (name.empty() || !std::filesystem::is_regular_file(
                          std::filesystem::symlink_status(std::filesystem::path(directory) / name, error)))
    return false;
  std::vector<std::filesystem::path> others;
  for (const auto& entry : std::filesystem::directory_iterator(directory, error))
    if (entry.path().filename() != name) others.push_back(entry.path());
  for (const std::filesystem::path& other : others) std::filesystem::remove_all(other, error);
  return !error;
}

// Whether the tool was ended rather than ending by itself: what it had written by then may count.
bool wasEnded(const sandbox::RunResult& run) {
  constexpr int kSignals = 128;  // as a shell reports the end by a signal
  return run.termination != sandbox::Termination::kOutputLimit &&
         (run.termination != sandbox::Termination::kExited || run.exitCode > kSignals);
}

Duration timeoutOf(const reapi::Action& action) {
  return std::chrono::seconds(action.timeout().seconds()) +
         std::chrono::duration_cast<Duration>(std::chrono::nanoseconds(action.timeout().nanos()));
}

Duration shorter(Duration a, Duration b) {
  if (a <= Duration::zero()) return b;
  return b <= Duration::zero() ? a : std::min(a, b);
}

}  // namespace

std::string stageOf(std::string_view line) {
  constexpr std::string_view kPrefix = "stage: ", kTune = "tune: ";
  const auto isPrintable = [](char c) { return c >= 0x20 && c < 0x7f; };
  if (line.starts_with(kTune) && line.size() <= 160 && std::ranges::all_of(line, isPrintable))
    return std::string(line);
  if (!line.starts_with(kPrefix)) return {};
  line.remove_prefix(kPrefix.size());
  const auto fits = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
  };
  if (line.empty() || line.size() > 32 || !std::all_of(line.begin(), line.end(), fits)) return {};
  return std::string(line);
}

Result<std::unique_ptr<Executor>> Executor::make(storage::BlobStore& store, const sandbox::Sandbox& sandbox,
                                                 std::string state, std::uint64_t toolchainBytes) {
  KILN_TRY(sandbox::removeTree(state));
  for (const std::string& dir : {state, state + "/toolchains", state + "/slots"}) {
    if (mkdir(dir.c_str(), 0700) != 0) return fail(errnoError(errno, "worker state " + dir));
  }
  return std::unique_ptr<Executor>(new Executor(store, sandbox, std::move(state), toolchainBytes));
}

Result<std::unique_ptr<Executor>> Executor::makeFor(HostProgram program, storage::BlobStore& store,
                                                    const sandbox::Sandbox& sandbox, std::string state) {
  KILN_ASSIGN(auto executor, make(store, sandbox, std::move(state)));
  executor->program_ = std::move(program);
  return executor;
}

Result<Digest> Executor::storePolicy(const std::string& instance) {
  return uploadPolicy(store_, instance, sandbox_.policy());
}

Result<reapi::ActionResult> Executor::run(const ActionRequest& request) {
  const std::string slotDir = state_ + "/slots/" + std::to_string(request.slot);
  KILN_ASSIGN(const auto slot, PreparedSlot::make(slotDir, sandbox_.host().actionUid(request.slot)));
  return runIn(slotDir, request);
}

Result<reapi::ActionResult> Executor::runIn(const std::string& slotDir, const ActionRequest& request) {
  KILN_ASSIGN(const auto action,
              fetchMessage<reapi::Action>(store_, request.instance, request.action, "action"));
  KILN_ASSIGN(const Digest commandDigest, fromProto(action.command_digest()));
  KILN_ASSIGN(const Digest inputRoot, fromProto(action.input_root_digest()));
  KILN_ASSIGN(const auto command,
              fetchMessage<reapi::Command>(store_, request.instance, commandDigest, "command"));
  KILN_TRY(checkCommand(command));
  const std::string output = command.output_paths(0);

  const std::string root = slotDir + "/root";
  KILN_ASSIGN(const auto toolchainRoot,
              writeInputRoot(store_, request.instance, inputRoot, kToolchain, root));
  KILN_TRY(addMountPoint(root, output));
  std::shared_ptr<const TreeCache::Tree> toolchain;
  if (toolchainRoot) {
    KILN_ASSIGN(toolchain, trees_.get(store_, request.instance, *toolchainRoot));
  }

  sandbox::Command run;
  run.arguments.assign(command.arguments().begin(), command.arguments().end());
  for (const auto& variable : command.environment_variables()) {
    run.environment.emplace_back(variable.name(), variable.value());
  }
  run.workingDirectory = kRoot;
  if (program_) {
    if (run.arguments.front() != program_->name)
      return fail(Code::kInvalidArgument, "command: is not one for " + program_->name);
    run.arguments.front() = "/" + program_->name;
    run.binds = hostBinds(kLibraryParts);
    run.binds.push_back({program_->path, run.arguments.front(), false});
  }
  const HostAddition& more = request.addition;
  run.arguments.insert(run.arguments.end(), more.arguments.begin(), more.arguments.end());
  run.environment.insert(run.environment.end(), more.environment.begin(), more.environment.end());
  run.binds.insert(run.binds.end(), more.binds.begin(), more.binds.end());
  run.binds.push_back({root, kRoot, false});
  if (toolchain) run.binds.push_back({toolchain->path, std::string(kRoot) + "/" + kToolchain, false});
  run.outputDirectory = PreparedSlot::outputOf(slotDir);
  run.binds.push_back({run.outputDirectory, std::string(kRoot) + "/" + output, true});

  sandbox::RunOptions options;
  options.slot = request.slot;
  options.timeLimit = shorter(request.timeLimit, timeoutOf(action));
  options.cancel = request.cancel;
  options.onErrorLine = [&](std::string_view line) {
    if (const std::string stage = stageOf(line); !stage.empty() && request.onStage) request.onStage(stage);
  };
  KILN_ASSIGN(sandbox::RunResult finished, sandbox_.run(run, options));
  if (request.onSandboxEnd) request.onSandboxEnd(finished.wallTime);
  if (wasEnded(finished) && keepOnly(run.outputDirectory, request.keptWhenEnded))
    finished.exitCode = 0;
  else
    KILN_TRY(checkTermination(finished));
  reapi::ActionResult result;
  result.set_exit_code(finished.exitCode);
  // A tool that failed has no outputs; what it left half-done would only hide its error.
  if (finished.exitCode == 0) {
    KILN_TRY(uploadOutputs(store_, request.instance, run.outputDirectory, output, sandbox_.policy().limits,
                           &result));
  }
  KILN_TRY(uploadLogs(store_, request.instance, std::move(finished.out), std::move(finished.err), &result));
  return result;
}

}  // namespace kiln::executor
