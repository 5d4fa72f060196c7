#include "compiler_core/runtime/emulated/settings.h"

#include <charconv>
#include <cstdlib>
#include <optional>

namespace kiln::emulated {
namespace {

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  std::size_t from = 0;
  for (;;) {
    const std::size_t to = text.find(separator, from);
    parts.push_back(text.substr(from, to == std::string::npos ? to : to - from));
    if (to == std::string::npos) return parts;
    from = to + 1;
  }
}

std::optional<std::uint64_t> number(std::string_view text) {
  std::uint64_t value = 0;
  const auto result = std::from_chars(text.data(), text.data() + text.size(), value);
  if (result.ec != std::errc() || result.ptr != text.data() + text.size()) return {};
  return value;
}

// sm_90a is {9, 0}, sm_100a {10, 0}.
std::optional<Settings::Capability> capabilityOf(const std::string& arch) {
  if (arch.rfind("sm_", 0) != 0) return {};
  std::string digits = arch.substr(3);
  if (!digits.empty() && digits.back() == 'a') digits.pop_back();
  const auto value = number(digits);
  if (!value || *value < 10 || *value > 999) return {};
  return Settings::Capability{static_cast<int>(*value / 10), static_cast<int>(*value % 10)};
}

}  // namespace

Settings Settings::fromEnvironment() {
  Settings settings;
  const auto variable = [](const char* name) {
    const char* const value = std::getenv(name);
    return std::string(value != nullptr ? value : "");
  };
  const auto complain = [&](const char* name) {
    settings.complaint += std::string(settings.complaint.empty() ? "" : ", ") + name + "=" + variable(name);
  };
  const auto read = [&](const char* name, auto& value, std::uint64_t least, std::uint64_t most) {
    if (variable(name).empty()) return;
    const auto given = number(variable(name));
    if (!given || *given < least || *given > most) return complain(name);
    value = static_cast<std::remove_reference_t<decltype(value)>>(*given);
  };
  read("KILN_EMULATED_DEVICES", settings.devices, 0, 16);
  read("KILN_EMULATED_MEMORY", settings.memoryBytes, 0, std::uint64_t{1} << 46);
  read("KILN_EMULATED_THREADS", settings.threads, 1, 64);
  read("KILN_EMULATED_HANG", settings.hang, 0, UINT64_MAX);
  read("KILN_EMULATED_LOST", settings.lost, 0, UINT64_MAX);
  if (const std::string folders = variable("KILN_EMULATED_KERNELS"); !folders.empty())
    settings.kernels = split(folders, ':');
  if (const std::string given = variable("KILN_EMULATED_ARCH"); !given.empty()) {
    const auto names = split(given, ',');
    bool known = true;
    for (const std::string& name : names) known = known && capabilityOf(name).has_value();
    if (known)
      settings.arch = names;
    else
      complain("KILN_EMULATED_ARCH");
  }
  if (const std::string given = variable("KILN_EMULATED_DRIVER"); !given.empty()) {
    const auto parts = split(given, '.');
    const auto major = number(parts[0]), minor = parts.size() == 2 ? number(parts[1]) : std::nullopt;
    if (major && minor && *major < 100 && *minor < 100)
      settings.driverVersion = static_cast<int>(*major * 1000 + *minor * 10);
    else
      complain("KILN_EMULATED_DRIVER");
  }
  const std::string order = variable("KILN_EMULATED_ORDER");
  if (order == "descending")
    settings.order = Order::kDescending;
  else if (order == "shuffled")
    settings.order = Order::kShuffled;
  else if (!order.empty() && order != "ascending")
    complain("KILN_EMULATED_ORDER");
  return settings;
}

Settings::Capability Settings::capability(int ordinal) const {
  const auto index = static_cast<std::size_t>(ordinal);
  return *capabilityOf(index < arch.size() ? arch[index] : arch.back());
}

}  // namespace kiln::emulated
