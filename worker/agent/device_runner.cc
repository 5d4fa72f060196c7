#include "worker/agent/device_runner.h"

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <span>

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

void bindParts(std::span<const char* const> parts, executor::HostAddition& addition) {
  for (sandbox::Bind& bind : executor::hostBinds(parts)) addition.binds.push_back(std::move(bind));
}

void addGpu(const devices::HeldGpu& gpu, executor::HostAddition& addition) {
  const std::string library = showLibrary(gpu.library, addition);
  for (const std::string& argument :
       {std::string("--device"), std::to_string(gpu.ordinal), std::string("--device-driver"), library})
    addition.arguments.push_back(argument);
  for (auto& setting : devices::driverSettings())
    if (setting.first != kEmulatedKernels) addition.environment.push_back(std::move(setting));
  if (gpu.emulated) {
    addition.environment.emplace_back(kEmulatedKernels, kEmulation);
    return;
  }
  // The driver finds its own parts beside it, and keeps no cache: nothing outside the output can be written.
  addition.environment.emplace_back("CUDA_CACHE_DISABLE", "1");
  addition.environment.emplace_back("MESA_SHADER_CACHE_DISABLE", "true");
  bindParts(executor::kLoaderParts, addition);
  if (!gpu.software) bindParts(executor::kRenderParts, addition);
  if (library.starts_with('/'))
    addition.environment.emplace_back("LD_LIBRARY_PATH",
                                      std::filesystem::path(library).parent_path().string());
}

// It sees the host's libraries, as kiln-check does.
void addMeasurer(const std::string& program, executor::HostAddition& addition) {
  const std::string inside = "/driver/" + std::filesystem::path(program).filename().string();
  addition.binds.push_back({program, inside, false});
  bindParts(executor::kLibraryParts, addition);
  for (const std::string& argument : {std::string("--measurer"), inside})
    addition.arguments.push_back(argument);
}

}  // namespace

Result<Outcome> DeviceRunner::run(const v1::Lease& lease, executor::ActionRequest request,
                                  devices::Claim claim) {
  std::vector<std::string> ids(lease.devices().begin(), lease.devices().end());
  if (ids.empty()) ids.emplace_back(devices::kCpuId);  // a coordinator of an earlier release
  KILN_ASSIGN(const devices::Hold hold, registry_.hold(ids, *request.cancel, claim));
  const auto& gpu = hold.gpu();
  if (gpu) addGpu(*gpu, request.addition);
  if (gpu && !measurer_.empty()) addMeasurer(measurer_, request.addition);
  executor::Executor& executor = gpu && !gpu->emulated && !gpu->software ? onGpus_ : onProcessor_;
  auto result = executor.run(request);
  if (gpu) KILN_TRY(judge(*gpu, result));
  if (!result) return fail(result.error());
  Outcome outcome;
  outcome.result = std::move(*result);
  KILN_ASSIGN(outcome.sandboxPolicy, executor.storePolicy(request.instance));
  return outcome;
}

Status DeviceRunner::judge(const devices::HeldGpu& gpu, const Result<reapi::ActionResult>& result) {
  if (!result && result.error().code == Code::kDeadlineExceeded) {
    registry_.drain(gpu.id, "an action on it did not end within its time limit");
    return {};
  }
  if (!result && result.error().code == Code::kCancelled) return {};
  const int exit = result ? result->exit_code() : kExitInternal;
  if (exit == kExitUnavailable || exit > kKilledBySignal) {
    const auto said = readErrorLine(result->stderr_raw());
    std::string why = said ? printable(said->message, 400) : "the " + what_ + " does not say why";
    if (exit > kKilledBySignal) why = "its process was ended by " + signalText(exit);
    registry_.drain(gpu.id, "lost in the middle of a " + what_ + ": " + why);
    return fail(Code::kUnavailable,
                "device " + gpu.id + " was lost in the middle of the " + what_ + ": " + why);
  }
  if (const Status works = registry_.stillWorks(gpu); !works)
    return fail(works.error().in("after the " + what_));
  if (exit == kExitOk) registry_.proved(gpu.id);
  return {};
}

}  // namespace kiln::agent
