#include "api/cli/view/device_view.h"

#include <fmt/format.h>

#include "api/cli/base/print.h"
#include "api/cli/view/json_text.h"
#include "manifest/base/counted.h"
#include "manifest/base/printable.h"
#include "manifest/spec/target_device.h"

namespace kiln::cli {
std::vector<std::string> deviceLines(const Manifest& manifest) {
  std::vector<std::string> lines;
  for (const DeviceImageInfo& device : manifest.devices) {
    const std::string needs =
        isVulkan(device.target)
            ? fmt::format("SPIR-V {}, Vulkan {} or later", device.computeCapability, device.driver)
            : fmt::format("compute capability {}{}, driver {} or later", device.computeCapability,
                          device.exact ? " only" : " or later of that major version", device.driver);
    lines.push_back(fmt::format("{}: {} {}, {}; {}", device.target, device.image.path,
                                humanBytes(device.image.digest.size),
                                counted(device.kernels.size(), "kernel"), needs));
  }
  return lines;
}

namespace {

// What the compiler says of a kernel's f32 results beside a processor's; "" where it says nothing.
std::string bitsText(const Json& device) {
  const auto same = device.find("cpuBits");
  if (same == device.end() || !same->is_boolean()) return "";
  if (same->get<bool>()) return ", bits of the CPU";
  std::string why;
  for (const Json& reason : listOf(device, "mayDiffer"))
    if (reason.is_string()) why += (why.empty() ? "" : ", ") + kiln::printable(reason.get<std::string>(), 32);
  return ", CPU's bits but for " + (why.empty() ? "what it does not say" : why);
}

}  // namespace

std::vector<std::string> deviceKernelLines(const Json& schedule) {
  std::vector<std::string> lines;
  for (const Json& kernel : listOf(schedule, "kernels")) {
    if (!kernel.is_object() || !kernel.contains("device")) continue;
    const Json& device = kernel["device"];
    const std::string code = textOf(kernel, "codeOf");
    // What a driver makes of SPIR-V is its own: registers and occupancy are not known before.
    const std::string compiled = isVulkan(textOf(kernel, "target"))
                                     ? ""
                                     : fmt::format(" {} registers, {} bytes spilled,",
                                                   textOf(device, "registers"), textOf(device, "spillBytes"));
    const std::string occupancy =
        compiled.empty() ? "" : fmt::format(" occupancy {},", permilleOf(device, "occupancyPermille"));
    lines.push_back(fmt::format("{} [{}] {} x {} threads,{} {} bytes shared,{} moves {} bytes{}{}",
                                textOf(kernel, "symbol"), textOf(kernel, "rule"), textOf(kernel, "tasks"),
                                textOf(device, "threads"), compiled, textOf(device, "sharedBytes"), occupancy,
                                textOf(device, "movedBytes"), code.empty() ? "" : ", code of " + code,
                                bitsText(device)));
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
