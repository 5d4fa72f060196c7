// The device that a target's kernels run on, by whatever drives it.
#pragma once

#include <memory>
#include <string>

#include "compiler_core/runtime/device/compute_device.h"

namespace kiln::runtime {

// Opens device `ordinal` of a driver library, of the interface that `target` is for ("cuda:sm_90a",
// "vulkan:1.3"). Errors of CudaDriver::open and VulkanDriver::open; kUnimplemented for a device that there is
// not.
Result<std::shared_ptr<const ComputeDevice>> openDevice(const std::string& target, const std::string& library,
                                                        int ordinal);

// The library where none is named: libcuda.so.1, libvulkan.so.1.
const char* defaultDriverLibrary(const std::string& target);

}  // namespace kiln::runtime
