#include "api/cli/artifact/device_options.h"

#include <cerrno>
#include <cstring>

#include "api/cli/base/cache_directory.h"
#include "api/cli/base/exit_code.h"
#include "compiler_core/runtime/device/open_device.h"
#include "manifest/json/reader.h"

namespace kiln::cli {

namespace {

constexpr std::uint64_t kMostDevices = 1024;

bool isNumber(const std::string& text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string::npos;
}

}  // namespace

Status DeviceOptions::apply(const Manifest& manifest, kiln_session_options& options) const {
  options.device_driver = driver.empty() ? nullptr : driver.c_str();
  options.device_cache = cache.empty() ? nullptr : cache.c_str();
  if (!manifest.devices.empty()) {
    if (!isNumber(device)) {
      KILN_ASSIGN(
          options.device,
          runtime::ordinalOf(
              driver.empty() ? runtime::defaultDriverLibrary(manifest.devices[0].target) : driver, device));
      return {};
    }
    const auto number = parseDecimal(device);
    if (!number || *number >= kMostDevices)
      return fail(Code::kInvalidArgument, "--device " + device + ": a number from 0 to 1023, or a uuid");
    options.device = static_cast<std::int32_t>(*number);
    return {};
  }
  for (const char* name : {"--device-driver", "--device", "--device-cache"})
    if (command->count(name) > 0)
      return fail(Code::kInvalidArgument, std::string(name) + ": the artifact for " + manifest.spec.target +
                                              " has no kernels for a device; leave it out");
  return {};
}

void addDeviceOptions(CLI::App& command, DeviceOptions& options) {
  options.command = &command;
  command.add_option(
      "--device-driver", options.driver,
      "CUDA driver library for kernels of cuda: targets (default: libcuda.so.1), Vulkan loader for "
      "those of vulkan: targets (default: libvulkan.so.1)");
  command
      .add_option("--device", options.device,
                  "Which of the driver's devices: its number, from 0, or its uuid, as kiln doctor shows them")
      ->capture_default_str();
  if (const std::string cache = cacheDirectory(); !cache.empty()) options.cache = cache + "/pipelines";
  command.add_option(
      "--device-cache", options.cache,
      "Folder of yours alone that keeps what Vulkan drivers compile (default: pipelines in kiln's "
      "cache folder)");
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
