#include <sched.h>

#include <charconv>
#include <fstream>

#include "compiler_core/tuner/tuner.h"
#include "manifest/base/printable.h"

namespace kiln::tuner {
namespace {

// "model name" of the first processor; on other kernels there is none.
std::string processorName() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);)
    if (line.starts_with("model name"))
      if (const auto colon = line.find(": "); colon != std::string::npos)
        return printable(line.substr(colon + 2), 200);
  return "unknown";
}

std::string lineOf(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

// "48K", "1024K", "32M".
std::uint64_t bytesOf(const std::string& text) {
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc()) return 0;
  const std::string_view unit(end, text.data() + text.size());
  return number << (unit == "K" ? 10 : unit == "M" ? 20 : 0);
}

std::vector<std::uint64_t> caches() {
  std::vector<std::uint64_t> sizes;
  for (int i = 0; i < 8; ++i) {
    const std::string folder = "/sys/devices/system/cpu/cpu0/cache/index" + std::to_string(i) + "/";
    const std::string type = lineOf(folder + "type"), size = lineOf(folder + "size");
    if (size.empty()) break;
    if (type != "Instruction") sizes.push_back(bytesOf(size));
  }
  return sizes;
}

}  // namespace

TuningDevice thisMachine() {
  TuningDevice device{"cpu", processorName(), {}, 0, caches()};
  cpu_set_t processors;
  if (::sched_getaffinity(0, sizeof processors, &processors) == 0)
    device.cores = static_cast<std::uint32_t>(CPU_COUNT(&processors));
  return device;
}

TuningDevice fingerprintOf(const MeasuredDevice& device) {
  TuningDevice found;
  found.kind = device.isEmulated ? "emulated" : device.api == "vulkan" ? "vulkan" : "cuda";
  found.name = printable(device.name, 200);
  found.cores = device.multiprocessors;
  if (device.api == "vulkan") {
    found.features = {"Vulkan " + printable(device.apiVersion, 20), "driver " + printable(device.driver, 128),
                      "type " + printable(device.type, 20)};
    return found;
  }
  found.features = {"compute capability " + std::to_string(device.major) + "." + std::to_string(device.minor),
                    "driver for CUDA " + printable(device.apiVersion, 20)};
  return found;
}

}  // namespace kiln::tuner
