// Whether a device can serve an artifact, decided before anything is put on it.
#pragma once

#include <cstdint>

#include "compiler_core/runtime/device/device_info.h"
#include "manifest/artifact/manifest.h"

namespace kiln::runtime {

// The driver's version and the device's compute capability against what the kernels state. kUnimplemented
// naming both sides.
Status checkDevice(const DeviceImageInfo& needed, const DeviceInfo& device);

// What an artifact wants of a device's memory.
struct DevicePlan {
  std::uint64_t weightBytes = 0, arenaBytes = 0;
};
// The plan of the profile with the largest arena. kResourceExhausted when the sizes are such as no device
// has.
Result<DevicePlan> devicePlan(const Manifest& manifest);

// kResourceExhausted naming the planned bytes and the free ones. `uploaded`: the weights are there already.
Status checkDeviceMemory(const DevicePlan& plan, bool uploaded, const DeviceInfo& device,
                         std::uint64_t freeBytes);

}  // namespace kiln::runtime
