// kiln-measure: runs and times programs of kernels on a device of CUDA or Vulkan, as kiln-cc tune tells it
// through its standard input (messages.h); not for use by hand. A program of its own because kiln-cc is
// static and cannot load a driver, and because what it runs may take it down.
#include <fcntl.h>
#include <unistd.h>

#include <CLI/CLI.hpp>

#include "compiler_core/runtime/device/cuda_device.h"
#include "compiler_core/runtime/device/open_device.h"
#include "compiler_core/runtime/device/vulkan_device.h"
#include "compiler_core/tuner/device_engine.h"
#include "manifest/base/exit_code.h"
#include "manifest/base/program.h"
#include "manifest/base/usage.h"

namespace kiln::tuner {
namespace {

Result<std::shared_ptr<const runtime::ComputeDevice>> deviceOn(const std::string& library, int ordinal) {
  if (runtime::apiOf(library) == runtime::DeviceApi::kVulkan)
    return runtime::VulkanDevice::open(library, ordinal);
  return runtime::CudaDevice::open(library, ordinal);
}

int run(int argc, char** argv) {
  std::string library = runtime::kCudaDriverLibrary;
  int ordinal = 0;
  CLI::App app(
      "Measures programs of kernels on a device. Started by kiln-cc tune, which speaks with it through "
      "its standard input and output.\n"
      "example: kiln-measure --device-driver libcuda.so.1 --device 0",
      "kiln-measure");
  app.add_option("--device-driver", library, "CUDA driver library or Vulkan loader")->capture_default_str();
  app.add_option("--device", ordinal, "which of the driver's devices, from 0")->check(CLI::Range(0, 1023));
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return usageExit(app, error);
  }
  // What a driver prints is no message.
  const int out = ::fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
  if (out < 0 || ::dup2(STDERR_FILENO, STDOUT_FILENO) < 0) return kExitInternal;
  serveMeasurements(STDIN_FILENO, out, [&](const MeasureSetup& setup) -> Result<std::unique_ptr<Engine>> {
    KILN_ASSIGN(auto device, deviceOn(library, ordinal));
    return openDevice(std::move(device), setup);
  });
  return 0;
}

}  // namespace
}  // namespace kiln::tuner

int main(int argc, char** argv) {
  return kiln::runMain("kiln-measure", [&] { return kiln::tuner::run(argc, argv); });
}
