// The devices of a driver.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "compiler_core/runtime/device/cuda_driver.h"

namespace kiln::runtime {

struct DeviceInfo {
  int ordinal = 0;
  std::string name;  // "NVIDIA H200"
  // Identifies the very device; for recognising it again on its machine, never to be published.
  std::string uuid;          // "GPU-01234567-89ab-cdef-0123-456789abcdef"
  int major = 0, minor = 0;  // of its compute capability
  int multiprocessors = 0;
  std::uint64_t memoryBytes = 0;
  int driverVersion = 0;  // as CudaDriver::version
  bool emulated = false;

  std::string computeCapability() const { return std::to_string(major) + "." + std::to_string(minor); }
  // "sm_90": the name that a toolchain has for it, without a suffix.
  std::string arch() const { return "sm_" + std::to_string(major) + std::to_string(minor); }
};

// kUnimplemented naming how many there are when `ordinal` is none of them.
Result<DeviceInfo> deviceInfo(const CudaDriver& driver, int ordinal);

// All devices of a driver library, in the driver's order. Errors of CudaDriver::open.
Result<std::vector<DeviceInfo>> listDevices(const std::string& library);

}  // namespace kiln::runtime
