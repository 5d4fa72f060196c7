#include "worker/devices/driver_settings.h"

#include <string_view>

extern char** environ;

namespace kiln::devices {
namespace {

bool isSetting(std::string_view name) {
  return name == "CUDA_VISIBLE_DEVICES" || name == "CUDA_DEVICE_ORDER" || name.starts_with("KILN_EMULATED_");
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
