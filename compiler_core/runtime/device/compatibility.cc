#include "compiler_core/runtime/device/compatibility.h"

#include <algorithm>
#include <charconv>

#include "compiler_core/runtime/device/device_layout.h"

namespace kiln::runtime {
namespace {

struct Version {
  int major = 0, minor = 0;
  auto operator<=>(const Version&) const = default;
};

// "13.0". The manifest's reader has refused everything else.
Result<Version> parseVersion(const std::string& text) {
  Version version;
  const char* const end = text.data() + text.size();
  const auto first = std::from_chars(text.data(), end, version.major);
  if (first.ec == std::errc() && first.ptr != end && *first.ptr == '.') {
    const auto second = std::from_chars(first.ptr + 1, end, version.minor);
    if (second.ec == std::errc() && second.ptr == end) return version;
  }
  return fail(Code::kDataLoss, "\"" + text + "\" in the manifest is no version");
}

std::string nameOf(const DeviceInfo& device) {
  return "device " + std::to_string(device.ordinal) + ", " + device.name + ",";
}

}  // namespace

Status checkDevice(const DeviceImageInfo& needed, const DeviceInfo& device) {
  KILN_ASSIGN(const Version driver, parseVersion(needed.driver));
  const Version served{device.driverVersion / 1000, device.driverVersion % 1000 / 10};
  if (served < driver) {
    return fail(Code::kUnimplemented, "the driver serves CUDA " + cudaVersionText(device.driverVersion) +
                                          ", the kernels for " + needed.target + " need CUDA " +
                                          needed.driver + " or later; update the driver");
  }
  KILN_ASSIGN(const Version wanted, parseVersion(needed.computeCapability));
  const Version has{device.major, device.minor};
  if (needed.exact ? has == wanted : has.major == wanted.major && has.minor >= wanted.minor) return {};
  const std::string range = needed.exact ? "compute capability " + needed.computeCapability + " alone"
                                         : "compute capability " + std::to_string(wanted.major) + "." +
                                               std::to_string(wanted.minor) + " or a later " +
                                               std::to_string(wanted.major) + ".x";
  return fail(Code::kUnimplemented, nameOf(device) + " is " + device.arch() + " (compute capability " +
                                        device.computeCapability() + "), the kernels for " + needed.target +
                                        " run on " + range +
                                        "; choose another device, or build for this one's target");
}

Result<DevicePlan> devicePlan(const Manifest& manifest) {
  const auto sane = [](std::uint64_t bytes) -> Status {
    if (bytes <= kMaxDeviceBytes) return {};
    return fail(Code::kResourceExhausted,
                "the artifact plans " + std::to_string(bytes) + " bytes on a device; none has that much");
  };
  DevicePlan plan;
  for (std::size_t i = 0; i < manifest.weightSpaces.size(); ++i) {
    if (manifest.weightSpaces[i] == 0) continue;
    KILN_TRY(sane(manifest.weights[i].digest.size));
    plan.weightBytes += deviceAligned(manifest.weights[i].digest.size);
  }
  for (const ProgramProfile& profile : manifest.profiles)
    for (const std::uint64_t bytes : profile.deviceArenaBytes) KILN_TRY(sane(bytes));
  plan.arenaBytes = DeviceArenas(manifest).bytes();
  return plan;
}

Status checkDeviceMemory(const DevicePlan& plan, bool uploaded, const DeviceInfo& device,
                         std::uint64_t freeBytes) {
  const std::uint64_t wanted = plan.arenaBytes + (uploaded ? 0 : plan.weightBytes);
  if (wanted <= freeBytes) return {};
  return fail(Code::kResourceExhausted,
              "the artifact plans " + std::to_string(wanted) + " bytes on the device (" +
                  std::to_string(plan.arenaBytes) + " for its arena" +
                  (uploaded ? "" : ", " + std::to_string(plan.weightBytes) + " for weights") + "), " +
                  nameOf(device) + " has " + std::to_string(freeBytes) + " of its " +
                  std::to_string(device.memoryBytes) + " bytes free");
}

}  // namespace kiln::runtime
