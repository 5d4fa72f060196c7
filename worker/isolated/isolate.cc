#include "worker/isolated/isolate.h"

#include <fmt/format.h>
#include <unistd.h>

#include <csignal>
#include <cstring>
#include <filesystem>
#include <optional>

#include "compiler_core/runtime/batch/run.h"
#include "manifest/base/exit_code.h"
#include "manifest/json/error_line.h"
#include "worker/executor/host_parts.h"
#include "worker/sandbox/outputs.h"
#include "worker/sandbox/probe.h"
#include "worker/sandbox/sandbox.h"
#include "worker/sandbox/uid_range.h"

namespace kiln::isolated {
namespace {

// Where things are inside.
constexpr const char* kProgram = "/kiln-isolated";
constexpr const char* kArtifact = "/work/artifact";
constexpr const char* kInputs = "/work/inputs";
constexpr const char* kOutputs = "/work/outputs";
constexpr int kSignals = 128;  // as a shell reports the end by a signal

// Checks' policy with a run's limits: a model may take the machine, and its time.
sandbox::Policy runPolicy() {
  sandbox::Policy policy = sandbox::checkPolicy();
  policy.name = "run/1";
  policy.limits.memoryBytes = std::uint64_t{1} << 50;
  policy.limits.addressSpaceBytes = ~std::uint64_t{0};
  policy.limits.processes = 2048;
  policy.limits.cpuSeconds = 365ull * 24 * 3600;
  policy.limits.wallSeconds = 30ull * 24 * 3600;
  policy.limits.fileBytes = policy.limits.outputBytes = std::uint64_t{64} << 30;
  policy.limits.outputFiles = 8192;
  return policy;
}

Error withExit(int exit, Code code, const std::string& message) {
  return {code, message, fmt::format(R"({{"exitCode":{}}})", exit)};
}

Status checkTermination(const sandbox::RunResult& ran) {
  if (ran.termination == sandbox::Termination::kOutOfMemory)
    return fail(withExit(kExitUnsupported, Code::kResourceExhausted, ran.why));
  if (ran.termination != sandbox::Termination::kExited) return fail(Code::kDeadlineExceeded, ran.why);
  if (ran.exitCode == 0) return {};
  if (auto error = readErrorLine(ran.err)) return fail(std::move(*error));
  if (ran.exitCode > kSignals) {
    const char* name = ::sigabbrev_np(ran.exitCode - kSignals);
    return fail(Code::kInternal,
                fmt::format("the program was ended by signal {}{} in its process; nothing else was touched",
                            ran.exitCode - kSignals, name == nullptr ? "" : fmt::format(" (SIG{})", name)));
  }
  return fail(Code::kInternal,
              fmt::format("the isolated run ended with exit code {} and said nothing", ran.exitCode));
}

std::string numbered(const std::string& directory, std::size_t i) {
  return directory + "/" + std::to_string(i) + ".npy";
}

}  // namespace

Status runInside(const Run& run) {
  KILN_ASSIGN(const auto artifact, runtime::Artifact::open(run.artifact));
  const auto specs = artifact.inputs();
  runtime::Tensors inputs;
  for (std::size_t i = 0; i < specs.size(); ++i) {
    KILN_ASSIGN(auto tensor, npy::read(numbered(run.inputs, i), specs[i].dtype));
    inputs.push_back({specs[i].name, std::move(tensor)});
  }
  auto session = runtime::Session::open(
      artifact, {.threads = run.threads, .run_before_ready = 1, .check_indices = run.checked ? 1 : 0});
  if (!session && session.error().code == Code::kResourceExhausted)
    return fail(withExit(kExitUnsupported, session.error().code, session.error().message));
  if (!session) return fail(session.error());
  KILN_ASSIGN(const auto outputs, runtime::runTensors(*session, specs, inputs, run.each));
  for (std::size_t i = 0; i < outputs.size(); ++i)
    KILN_TRY(npy::write(numbered(run.outputs, i), outputs[i].tensor));
  return {};
}

Status runIsolated(const Run& run) {
  sandbox::Host host = sandbox::Host::detect();
  std::optional<sandbox::UidRange> uids;
  if (::geteuid() == 0) {
    KILN_ASSIGN(uids, sandbox::UidRange::claim());
    host.uidBase = uids->base();
    if (::chown(run.outputs.c_str(), host.actionUid(0), host.actionUid(0)) != 0)
      return fail(errnoError(errno, run.outputs));
  }
  KILN_ASSIGN(const auto sandbox, sandbox::Sandbox::make(runPolicy(), host));
  sandbox::Command command;
  command.arguments = {kProgram, "--inside",  "--artifact", kArtifact,   "--inputs",
                       kInputs,  "--outputs", kOutputs,     "--threads", std::to_string(run.threads)};
  if (run.each) command.arguments.emplace_back("--each");
  if (run.checked) command.arguments.emplace_back("--checked");
  command.environment = {{"LC_ALL", "C"}, {"TZ", "UTC"}};
  command.workingDirectory = "/work";
  command.binds = executor::hostBinds(executor::kLibraryParts);
  std::error_code error;
  const std::string self = std::filesystem::read_symlink("/proc/self/exe", error).string();
  command.binds.push_back({self, kProgram});
  command.binds.push_back({run.artifact, kArtifact});
  command.binds.push_back({run.inputs, kInputs});
  command.binds.push_back({run.outputs, kOutputs, true});
  command.outputDirectory = run.outputs;
  const auto ran = sandbox.run(command, {});
  if (!ran) {
    const sandbox::Probe probe = sandbox::probe(sandbox);
    return fail(withExit(kExitUnavailable, Code::kFailedPrecondition,
                         ran.error().message + (probe.usable() ? "" : "\n" + probe.text())));
  }
  KILN_TRY(checkTermination(*ran));
  return sandbox::visitOutputs(run.outputs, sandbox.policy().limits,
                               [](const sandbox::OutputFile&) { return Status{}; });
}

}  // namespace kiln::isolated
