#include "api/cli/artifact/device_options.h"

#include <cerrno>
#include <cstring>

#include "api/cli/base/exit_code.h"

namespace kiln::cli {

void DeviceOptions::apply(kiln_session_options& options) const {
  options.device_driver = driver.empty() ? nullptr : driver.c_str();
  options.device = device;
}

Status DeviceOptions::checkFor(const Manifest& manifest) const {
  if (!manifest.devices.empty()) return {};
  for (const char* name : {"--device-driver", "--device"})
    if (command->count(name) > 0)
      return fail(Code::kInvalidArgument, std::string(name) + ": the artifact for " + manifest.spec.target +
                                              " has no kernels for a device; leave it out");
  return {};
}

void addDeviceOptions(CLI::App& command, DeviceOptions& options) {
  options.command = &command;
  command.add_option("--device-driver", options.driver,
                     "CUDA driver library for kernels of cuda: targets (default: libcuda.so.1)");
  command.add_option("--device", options.device, "Which of the driver's devices, from 0")
      ->check(CLI::Range(0, 1023));
}

Error sessionError(Error error) {
  if (error.code != Code::kResourceExhausted) return error;
  // The limits of this process and not of the machine. A program is copied into a file in memory.
  if (error.message.ends_with(std::strerror(EFBIG)))
    return {error.code, error.message + "; raise the limit of file sizes with ulimit -f", {}};
  if (error.message.ends_with(std::strerror(EMFILE)))
    return {error.code, error.message + "; raise the limit of open files with ulimit -n", {}};
  return withExit(kExitUnsupported, error.code, error.message);
}

}  // namespace kiln::cli
