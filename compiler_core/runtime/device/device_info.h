// The devices of a driver.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "compiler_core/runtime/device/cuda_driver.h"

namespace kiln::runtime {

// What a device is reached through.
enum class DeviceApi { kCuda, kVulkan };

struct DeviceInfo {
  DeviceApi api = DeviceApi::kCuda;
  int ordinal = 0;
  std::string name;  // "NVIDIA H200"
  // Identifies the very device; for recognising it again on its machine, never to be published.
  std::string uuid;          // "GPU-01234567-89ab-cdef-0123-456789abcdef"
  int major = 0, minor = 0;  // of its compute capability; of Vulkan that the device serves
  int multiprocessors = 0;
  std::uint64_t memoryBytes = 0;
  int driverVersion = 0;  // as CudaDriver::version; of Vulkan in the same way, 1030 is 1.3
  bool emulated = false;
  std::string apiVersion;  // of the interface that its driver serves: "13.0" of CUDA, "1.3.230" of Vulkan
  // Of Vulkan, which alone says them. What it is: "discrete", "integrated", "virtual", "software" (the
  // processor behind a real driver, lavapipe: what runs on it is no test of a GPU, nor of its speed),
  // "other". The driver, "llvmpipe: Mesa 22.3.6 (LLVM 15.0.6)", and the version of the conformance tests that
  // the driver says it passed, "1.3.1.1".
  std::string type, driver, conformance;

  // "cuda", "vulkan".
  const char* apiName() const { return api == DeviceApi::kVulkan ? "vulkan" : "cuda"; }
  std::string computeCapability() const { return std::to_string(major) + "." + std::to_string(minor); }
  // "sm_90": the name that a toolchain has for it, without a suffix; "vulkan1.3".
  std::string arch() const {
    return api == DeviceApi::kVulkan ? "vulkan" + computeCapability()
                                     : "sm_" + std::to_string(major) + std::to_string(minor);
  }
};

// kUnimplemented naming how many there are when `ordinal` is none of them.
Result<DeviceInfo> deviceInfo(const CudaDriver& driver, int ordinal);

// All devices of a driver library, in the driver's order. Errors of CudaDriver::open.
Result<std::vector<DeviceInfo>> listDevices(const std::string& library);

}  // namespace kiln::runtime
