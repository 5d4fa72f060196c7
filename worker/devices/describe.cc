#include "worker/devices/describe.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace kiln::devices {
namespace {

std::string shapeOf(const v1::Device& device) {
  std::string text;
  if (device.threads() > 0)
    text = fmt::format(", {} socket{}, {} core{}, {} thread{}", device.sockets(),
                       device.sockets() == 1 ? "" : "s", device.cores(), device.cores() == 1 ? "" : "s",
                       device.threads(), device.threads() == 1 ? "" : "s");
  for (const v1::Cache& cache : device.caches())
    text += fmt::format(", L{} {} {} KiB", cache.level(), cache.kind(), cache.bytes() >> 10);
  return text;
}

std::string driverOf(const v1::Device& device) {
  if (device.api() == "vulkan")
    return fmt::format(", {}, Vulkan {} by {}, conformance {}", device.type(), device.api_version(),
                       device.driver(), device.conformance());
  return device.driver().empty() ? "" : ", driver for CUDA " + device.driver();
}

}  // namespace

Json toJson(const std::vector<v1::Device>& devices, const std::string& missing) {
  Json list = Json::array();
  for (const v1::Device& device : devices) {
    Json caches = Json::array();
    for (const v1::Cache& cache : device.caches())
      caches.push_back(
          {{"level", cache.level()}, {"kind", cache.kind()}, {"bytes", std::to_string(cache.bytes())}});
    list.push_back({{"id", device.id()},
                    {"kind", device.kind()},
                    {"name", device.name()},
                    {"arch", device.arch()},
                    {"memoryBytes", std::to_string(device.memory_bytes())},
                    {"driver", device.driver()},
                    {"api", device.api()},
                    {"apiVersion", device.api_version()},
                    {"type", device.type()},
                    {"conformance", device.conformance()},
                    {"emulated", device.emulated()},
                    {"healthy", device.healthy()},
                    {"reason", device.reason()},
                    {"runs", std::vector<std::string>(device.runs().begin(), device.runs().end())},
                    {"sockets", device.sockets()},
                    {"cores", device.cores()},
                    {"threads", device.threads()},
                    {"caches", std::move(caches)}});
  }
  Json json{{"devices", std::move(list)}};
  if (!missing.empty()) json["missing"] = missing;
  return json;
}

std::string toText(const std::vector<v1::Device>& devices, const std::string& missing) {
  std::string text;
  for (const v1::Device& device : devices) {
    text += fmt::format("{}: {}{}\n", device.id(), device.name(),
                        device.emulated()             ? " (emulated: for tests only)"
                        : device.type() == "software" ? " (software: the processor behind a real driver)"
                                                      : "");
    text +=
        fmt::format("  {}{}{}{}\n", device.arch(),
                    device.memory_bytes() == 0 ? "" : fmt::format(", {} MiB", device.memory_bytes() >> 20),
                    driverOf(device), shapeOf(device));
    if (!device.healthy()) text += "  not healthy: " + device.reason() + "\n";
    text +=
        fmt::format("  runs {}\n", device.runs().empty() ? "none of what Kiln builds for"
                                                         : fmt::format("{}", fmt::join(device.runs(), ", ")));
  }
  return missing.empty() ? text : text + "none of: " + missing + "\n";
}

}  // namespace kiln::devices
