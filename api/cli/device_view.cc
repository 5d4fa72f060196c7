#include "api/cli/device_view.h"

#include <fmt/format.h>

#include "api/cli/print.h"
#include "manifest/json/reader.h"

namespace kiln::cli {
namespace {

std::string textOf(const Json& object, const char* name) {
  if (!object.is_object() || !object.contains(name)) return "";
  const Json& value = object[name];
  return value.is_string() ? value.get<std::string>()
                           : value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string shareText(const std::string& permille) {
  const auto number = parseDecimal(permille);
  return number ? fmt::format("{}.{} %", *number / 10, *number % 10) : permille;
}

}  // namespace

std::vector<std::string> deviceLines(const Manifest& manifest) {
  std::vector<std::string> lines;
  for (const DeviceImageInfo& device : manifest.devices)
    lines.push_back(fmt::format("{}: {} {}, {} kernels; compute capability {}{}, driver {} or later",
                                device.target, device.image.path, humanBytes(device.image.digest.size),
                                device.kernels.size(), device.computeCapability,
                                device.exact ? " only" : " or later of that major version", device.driver));
  return lines;
}

std::vector<std::string> deviceKernelLines(const Json& schedule) {
  std::vector<std::string> lines;
  if (!schedule.is_object() || !schedule.contains("kernels") || !schedule["kernels"].is_array()) return lines;
  for (const Json& kernel : schedule["kernels"]) {
    if (!kernel.is_object() || !kernel.contains("device")) continue;
    const Json& device = kernel["device"];
    const std::string code = textOf(kernel, "codeOf");
    lines.push_back(
        fmt::format("{} [{}] {} x {} threads, {} registers, {} bytes spilled, {} bytes shared, occupancy {}, "
                    "moves {} bytes{}",
                    textOf(kernel, "symbol"), textOf(kernel, "rule"), textOf(kernel, "tasks"),
                    textOf(device, "threads"), textOf(device, "registers"), textOf(device, "spillBytes"),
                    textOf(device, "sharedBytes"), shareText(textOf(device, "occupancyPermille")),
                    textOf(device, "movedBytes"), code.empty() ? "" : ", code of " + code));
  }
  return lines;
}

std::string deviceMemoryText(const Manifest& manifest, const ProgramProfile& profile) {
  std::string text;
  for (std::size_t i = 0; i < profile.deviceArenaBytes.size() && i < manifest.devices.size(); ++i)
    text += fmt::format(", {} on {}", humanBytes(profile.deviceArenaBytes[i]), manifest.devices[i].target);
  return text;
}

}  // namespace kiln::cli
