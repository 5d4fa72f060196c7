// kiln-measure: runs and times programs of kernels on a CUDA device, as kiln-cc tune tells it through its
// standard input (messages.h); not for use by hand. A program of its own because kiln-cc is static and cannot
// load a driver, and because what it runs may take it down.
#include <fcntl.h>
#include <unistd.h>

#include <CLI/CLI.hpp>

#include "compiler_core/runtime/device/device_context.h"
#include "compiler_core/tuner/device_engine.h"
#include "manifest/base/exit_code.h"
#include "manifest/base/program.h"
#include "manifest/base/usage.h"

namespace kiln::tuner {
namespace {

Result<std::shared_ptr<const runtime::DeviceContext>> contextOn(const std::string& library, int ordinal) {
  KILN_ASSIGN(auto driver, runtime::CudaDriver::open(library));
  KILN_ASSIGN(runtime::DeviceInfo info, runtime::deviceInfo(*driver, ordinal));
  return runtime::DeviceContext::open(std::move(driver), std::move(info));
}

int run(int argc, char** argv) {
  std::string library = runtime::kCudaDriverLibrary;
  int ordinal = 0;
  CLI::App app(
      "Measures programs of kernels on a CUDA device. Started by kiln-cc tune, which speaks with it through "
      "its standard input and output.\n"
      "example: kiln-measure --device-driver libcuda.so.1 --device 0",
      "kiln-measure");
  app.add_option("--device-driver", library, "CUDA driver library")->capture_default_str();
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
    KILN_ASSIGN(auto context, contextOn(library, ordinal));
    return openDevice(std::move(context), setup);
  });
  return 0;
}

}  // namespace
}  // namespace kiln::tuner

int main(int argc, char** argv) {
  return kiln::runMain("kiln-measure", [&] { return kiln::tuner::run(argc, argv); });
}
