#include "worker/executor/executor.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>

#include "manifest/base/exit_code.h"
#include "manifest/base/printable.h"
#include "worker/executor/collect.h"
#include "worker/executor/host_parts.h"
#include "worker/executor/output_upload.h"
#include "worker/executor/termination.h"
#include "worker/executor/workspace.h"
#include "worker/sandbox/outputs.h"

namespace kiln::executor {
namespace {

constexpr std::uint64_t kMaxMessage = 1 << 20;  // of an Action or a Command

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
  return run.termination != sandbox::Termination::kOutputLimit &&
         (run.termination != sandbox::Termination::kExited || run.exitCode > kKilledBySignal);
}

google::protobuf::Timestamp toTimestamp(TimePoint time) {
  const auto since = time.time_since_epoch();
  const auto seconds = std::chrono::floor<std::chrono::seconds>(since);
  google::protobuf::Timestamp stamp;
  stamp.set_seconds(seconds.count());
  stamp.set_nanos(static_cast<std::int32_t>(std::chrono::nanoseconds(since - seconds).count()));
  return stamp;
}

// When what was done, as the metadata of an executed action has it.
class Times {
 public:
  explicit Times(const std::string& worker) {
    metadata_.set_worker(worker);
    *metadata_.mutable_worker_start_timestamp() = now();
    *metadata_.mutable_input_fetch_start_timestamp() = metadata_.worker_start_timestamp();
  }
  void inputsAreThere() {
    *metadata_.mutable_input_fetch_completed_timestamp() = now();
    *metadata_.mutable_execution_start_timestamp() = metadata_.input_fetch_completed_timestamp();
  }
  void hasRun() {
    *metadata_.mutable_execution_completed_timestamp() = now();
    *metadata_.mutable_output_upload_start_timestamp() = metadata_.execution_completed_timestamp();
  }
  void finish(reapi::ExecutedActionMetadata& metadata) {
    *metadata_.mutable_output_upload_completed_timestamp() = now();
    *metadata_.mutable_worker_completed_timestamp() = metadata_.output_upload_completed_timestamp();
    metadata = std::move(metadata_);
  }

 private:
  static google::protobuf::Timestamp now() { return toTimestamp(SystemClock().now()); }
  reapi::ExecutedActionMetadata metadata_;
};

// Whether a sandbox that was set up found no program to start: a foreign action's fault, on every worker.
bool isNoProgram(const Error& error) {
  return error.code == Code::kFailedPrecondition && error.message.find("bwrap: execvp ") != std::string::npos;
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

Result<ActionPlan> Executor::plan(const ActionRequest& request) {
  KILN_ASSIGN(const auto action,
              fetchMessage<reapi::Action>(store_, request.instance, request.action, "action"));
  KILN_ASSIGN(const Digest commandDigest, fromProto(action.command_digest()));
  KILN_ASSIGN(const auto command,
              fetchMessage<reapi::Command>(store_, request.instance, commandDigest, "command"));
  return planAction(action, command, request.profile, request.root);
}

// What the plan and the worker's own additions say, but for the files.
Result<sandbox::Command> Executor::commandOf(const ActionPlan& plan, const ActionRequest& request) const {
  sandbox::Command run;
  run.arguments = plan.arguments;
  run.environment = plan.environment;
  run.workingDirectory = kWork + (plan.workingDirectory.empty() ? "" : "/" + plan.workingDirectory);
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
  return run;
}

Result<sandbox::RunResult> Executor::runInSandbox(const sandbox::Command& command, const ActionPlan& plan,
                                                  const ActionRequest& request) const {
  sandbox::RunOptions options;
  options.slot = request.slot;
  options.timeLimit = shorter(request.timeLimit, plan.timeout);
  options.cancel = request.cancel;
  options.onErrorLine = [&](std::string_view line) {
    if (const std::string stage = stageOf(line); !stage.empty() && request.onStage) request.onStage(stage);
  };
  auto finished = sandbox_.run(command, options);
  if (!finished && plan.profile == Profile::kForeign && isNoProgram(finished.error()))
    return fail(Code::kInvalidArgument, "command: " + inQuotes(plan.arguments.front()) +
                                            " cannot be started; " + finished.error().message);
  if (finished && request.onSandboxEnd) request.onSandboxEnd(finished->wallTime);
  return finished;
}

Result<reapi::ActionResult> Executor::run(const ActionRequest& request) {
  reapi::ActionResult result;
  Times times(request.worker);
  KILN_ASSIGN(const ActionPlan plan, this->plan(request));
  KILN_ASSIGN(sandbox::Command command, commandOf(plan, request));
  KILN_ASSIGN(const auto workspace, Workspace::make({store_, request.instance, trees_,
                                                     state_ + "/slots/" + std::to_string(request.slot),
                                                     sandbox_.host().actionUid(request.slot)},
                                                    plan));
  command.binds.insert(command.binds.end(), workspace.binds.begin(), workspace.binds.end());
  command.links = workspace.links;
  command.outputDirectory = workspace.outputs;
  command.before = workspace.before;
  times.inputsAreThere();

  KILN_ASSIGN(sandbox::RunResult finished, runInSandbox(command, plan, request));
  times.hasRun();
  if (wasEnded(finished) && keepOnly(workspace.outputs, request.keptWhenEnded))
    finished.exitCode = 0;
  else
    KILN_TRY(checkTermination(finished));
  result.set_exit_code(finished.exitCode);
  const sandbox::Limits& limits = sandbox_.policy().limits;
  // A compiler that failed has no outputs; what it left half-done would only hide its error. Of foreign tools
  // REAPI wants what there is.
  if (plan.profile == Profile::kForeign) {
    KILN_TRY(collectOutputs(store_, request.instance, plan, workspace.outputs, limits, &result));
  } else if (finished.exitCode == 0) {
    KILN_TRY(uploadOutputs(store_, request.instance, workspace.outputs, plan.outputs.front().path, limits,
                           &result));
  }
  KILN_TRY(uploadLogs(store_, request.instance, std::move(finished.out), std::move(finished.err), &result));
  // The bytes of a compiler's result depend on its action alone.
  if (plan.profile == Profile::kForeign) times.finish(*result.mutable_execution_metadata());
  return result;
}

}  // namespace kiln::executor
