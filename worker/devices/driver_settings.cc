#include "worker/devices/driver_settings.h"

#include <algorithm>
#include <iterator>
#include <string_view>

extern char** environ;

namespace kiln::devices {
namespace {

constexpr std::string_view kSettings[] = {
    "CUDA_DEVICE_ORDER",         "CUDA_VISIBLE_DEVICES",    "LP_NUM_THREADS",
    "MESA_VK_DEVICE_SELECT",     "VK_DRIVER_FILES",         "VK_ICD_FILENAMES",
    "VK_LOADER_DRIVERS_DISABLE", "VK_LOADER_DRIVERS_SELECT"};

bool isSetting(std::string_view name) {
  return std::ranges::find(kSettings, name) != std::end(kSettings) || name.starts_with("KILN_EMULATED_");
}

}  // namespace

std::vector<std::pair<std::string, std::string>> driverSettings() {
  std::vector<std::pair<std::string, std::string>> settings;
  for (char** variable = environ; *variable != nullptr; ++variable) {
    const std::string_view text = *variable;
    const std::string_view name = text.substr(0, text.find('='));
    if (name.size() < text.size() && isSetting(name))
      settings.emplace_back(name, text.substr(name.size() + 1));
  }
  return settings;
}

}  // namespace kiln::devices
