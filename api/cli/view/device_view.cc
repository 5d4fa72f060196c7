#include "api/cli/view/device_view.h"

#include <fmt/format.h>

#include "api/cli/base/print.h"
#include "api/cli/view/json_text.h"
#include "manifest/base/counted.h"

namespace kiln::cli {
std::vector<std::string> deviceLines(const Manifest& manifest) {
  std::vector<std::string> lines;
  for (const DeviceImageInfo& device : manifest.devices)
    lines.push_back(fmt::format("{}: {} {}, {}; compute capability {}{}, driver {} or later", device.target,
                                device.image.path, humanBytes(device.image.digest.size),
                                counted(device.kernels.size(), "kernel"), device.computeCapability,
                                device.exact ? " only" : " or later of that major version", device.driver));
  return lines;
}

std::vector<std::string> deviceKernelLines(const Json& schedule) {
  std::vector<std::string> lines;
  for (const Json& kernel : listOf(schedule, "kernels")) {
    if (!kernel.is_object() || !kernel.contains("device")) continue;
    const Json& device = kernel["device"];
    const std::string code = textOf(kernel, "codeOf");
    lines.push_back(
        fmt::format("{} [{}] {} x {} threads, {} registers, {} bytes spilled, {} bytes shared, occupancy {}, "
                    "moves {} bytes{}",
                    textOf(kernel, "symbol"), textOf(kernel, "rule"), textOf(kernel, "tasks"),
                    textOf(device, "threads"), textOf(device, "registers"), textOf(device, "spillBytes"),
                    textOf(device, "sharedBytes"), permilleOf(device, "occupancyPermille"),
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
