#include "worker/agent/check_runner.h"

#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "manifest/base/exit_code.h"
#include "manifest/base/printable.h"
#include "manifest/json/error_line.h"
#include "worker/devices/cpu.h"
#include "worker/devices/driver_settings.h"
#include "worker/executor/host_parts.h"

namespace kiln::agent {
namespace {

// Where the code of an emulated device lies is the action's business, not the worker's.
constexpr char kEmulatedKernels[] = "KILN_EMULATED_KERNELS";
constexpr char kEmulation[] = "/work/emulation";

// A library of the system is seen at its place anyway; another one is shown alone.
std::string showLibrary(const std::string& library, executor::HostAddition& addition) {
  const bool ofSystem = std::ranges::any_of(executor::kLibraryParts, [&](const char* part) {
    return library.starts_with(std::string(part) + "/");
  });
  if (!library.starts_with('/') || ofSystem) return library;
  const std::string inside = "/driver/" + std::filesystem::path(library).filename().string();
  addition.binds.push_back({library, inside, false});
  return inside;
}

executor::HostAddition additionFor(const devices::HeldGpu& gpu) {
  executor::HostAddition addition;
  const std::string library = showLibrary(gpu.library, addition);
  addition.arguments = {"--device", std::to_string(gpu.ordinal), "--device-driver", library};
  addition.environment = devices::driverSettings();
  std::erase_if(addition.environment, [](const auto& setting) { return setting.first == kEmulatedKernels; });
  if (gpu.emulated) {
    addition.environment.emplace_back(kEmulatedKernels, kEmulation);
    return addition;
  }
  // The driver finds its own parts beside it, and keeps no cache: nothing outside the output can be written.
  addition.environment.emplace_back("CUDA_CACHE_DISABLE", "1");
  if (library.starts_with('/'))
    addition.environment.emplace_back("LD_LIBRARY_PATH",
                                      std::filesystem::path(library).parent_path().string());
  return addition;
}

}  // namespace

Result<Outcome> CheckRunner::run(const v1::Lease& lease, executor::ActionRequest request) {
  std::vector<std::string> ids(lease.devices().begin(), lease.devices().end());
  if (ids.empty()) ids.emplace_back(devices::kCpuId);  // a coordinator of an earlier release
  KILN_ASSIGN(const devices::Hold hold, registry_.hold(ids, *request.cancel));
  const auto& gpu = hold.gpu();
  if (gpu) request.addition = additionFor(*gpu);
  executor::Executor& executor = gpu && !gpu->emulated ? onDevices_ : checker_;
  auto result = executor.run(request);
  if (gpu) KILN_TRY(judge(*gpu, result));
  if (!result) return fail(result.error());
  Outcome outcome;
  outcome.result = std::move(*result);
  KILN_ASSIGN(outcome.sandboxPolicy, executor.storePolicy(request.instance));
  return outcome;
}

Status CheckRunner::judge(const devices::HeldGpu& gpu, const Result<reapi::ActionResult>& result) {
  if (!result && result.error().code == Code::kDeadlineExceeded) {
    registry_.drain(gpu.id, "an action on it did not end within its time limit");
    return {};
  }
  if (!result && result.error().code == Code::kCancelled) return {};
  if (result && result->exit_code() == 0) return {};
  if (result && result->exit_code() == kExitUnavailable) {
    const auto said = readErrorLine(result->stderr_raw());
    const std::string why = said ? printable(said->message, 400) : "the check does not say why";
    registry_.drain(gpu.id, "lost in the middle of a check: " + why);
    return fail(Code::kUnavailable, "device " + gpu.id + " was lost in the middle of the check: " + why);
  }
  if (registry_.stillWorks(gpu)) return {};
  return fail(Code::kUnavailable, "device " + gpu.id + " did not work any more after the check failed");
}

}  // namespace kiln::agent
