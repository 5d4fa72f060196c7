#include "api/cli/farm/doctor_devices.h"

#include <fmt/format.h>

#include "api/cli/base/print.h"
#include "compiler_core/runtime/device/open_device.h"
#include "manifest/base/counted.h"

namespace kiln::cli {
namespace {

using runtime::DeviceApi;
using runtime::DeviceInfo;

std::string aboutOf(const DeviceInfo& device) {
  if (device.api == DeviceApi::kVulkan)
    return fmt::format("{}, Vulkan {} by {}, conformance {}", device.type, device.apiVersion, device.driver,
                       device.conformance);
  return fmt::format("{}, {}, driver CUDA {}", device.arch(),
                     counted(device.multiprocessors, "multiprocessor"), device.apiVersion);
}

Finding checkLibrary(const std::string& library) {
  const char* const name = runtime::apiOf(library) == DeviceApi::kVulkan ? "vulkan devices" : "gpus";
  const auto devices = runtime::listDevicesOf(library);
  if (!devices) return {name, "ok", "none: " + devices.error().message, ""};
  std::string text;
  for (const DeviceInfo& device : *devices)
    text += fmt::format("{}device {}: {}, {}, {}, uuid {}", text.empty() ? "" : "; ", device.ordinal,
                        device.name, aboutOf(device), humanBytes(device.memoryBytes), device.uuid);
  return {name, "ok", text, ""};
}

}  // namespace

std::vector<Finding> checkDevices(const std::vector<std::string>& libraries) {
  std::vector<Finding> findings;
  for (const std::string& library : libraries) findings.push_back(checkLibrary(library));
  return findings;
}

}  // namespace kiln::cli
