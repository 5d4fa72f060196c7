// The device that a target's kernels run on, by whatever drives it.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "compiler_core/runtime/device/compute_device.h"

namespace kiln::runtime {

// Opens device `ordinal` of a driver library, of the interface that `target` is for ("cuda:sm_90a",
// "vulkan:1.3"). Errors of CudaDriver::open and VulkanDriver::open; kUnimplemented for a device that there is
// not.
Result<std::shared_ptr<const ComputeDevice>> openDevice(const std::string& target, const std::string& library,
                                                        int ordinal);

// What drives the devices of a library: Vulkan where it exports vkGetInstanceProcAddr, or where it cannot be
// loaded and is called as a Vulkan loader is; else CUDA. The library stays in the process.
DeviceApi apiOf(const std::string& library);

// All devices of a library that can run kernels, whatever its interface. Errors of CudaDriver::open and
// VulkanDriver::open.
Result<std::vector<DeviceInfo>> listDevicesOf(const std::string& library);

// The number of the library's device with this uuid. kUnimplemented naming those that there are.
Result<int> ordinalOf(const std::string& library, const std::string& uuid);

// The library where none is named: libcuda.so.1, libvulkan.so.1.
const char* defaultDriverLibrary(const std::string& target);

}  // namespace kiln::runtime
