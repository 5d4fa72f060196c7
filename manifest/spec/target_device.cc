#include "manifest/spec/target_device.h"

#include <algorithm>
#include <charconv>

#include "manifest/spec/target.h"

namespace kiln {
namespace {
constexpr std::string_view kCuda = "cuda:";
constexpr std::string_view kVulkan = "vulkan:";
constexpr std::string_view kArchitecture = "cuda:sm_";
}  // namespace

bool wantsDevice(std::string_view target) {
  return std::ranges::any_of(
      targetNames(target), [](const std::string& part) { return part.starts_with(kCuda) || isVulkan(part); });
}

bool isVulkan(std::string_view target) {
  return target.starts_with(kVulkan);
}

bool isSearched(std::string_view target) {
  return !wantsDevice(target) || std::ranges::any_of(targetNames(target), isVulkan);
}

bool runsOnVulkan(std::string_view target, int major, int minor) {
  if (!isVulkan(target)) return false;
  target.remove_prefix(kVulkan.size());
  const auto numberOf = [&target](int& out) {
    const auto parsed = std::from_chars(target.data(), target.data() + target.size(), out);
    if (parsed.ec != std::errc()) return false;
    target.remove_prefix(static_cast<std::size_t>(parsed.ptr - target.data()));
    return true;
  };
  int wantedMajor = 0, wantedMinor = 0;
  if (!numberOf(wantedMajor) || !target.starts_with('.')) return false;
  target.remove_prefix(1);
  return numberOf(wantedMinor) && target.empty() && major == wantedMajor && minor >= wantedMinor;
}

bool runsOnGpu(std::string_view target, int major, int minor) {
  if (!target.starts_with(kArchitecture)) return false;
  target.remove_prefix(kArchitecture.size());
  int number = 0;  // 90: 9.0; 100: 10.0
  const auto parsed = std::from_chars(target.data(), target.data() + target.size(), number);
  if (parsed.ec != std::errc() || number < 10) return false;
  const std::string_view suffix(parsed.ptr,
                                static_cast<std::size_t>(target.data() + target.size() - parsed.ptr));
  if (number / 10 != major) return false;
  if (suffix.empty()) return minor >= number % 10;
  return suffix == "a" && minor == number % 10;
}

}  // namespace kiln
