#include "compiler_core/runtime/device/open_device.h"

#include "compiler_core/runtime/device/cuda_device.h"
#include "compiler_core/runtime/device/vulkan_device.h"
#include "manifest/spec/target_device.h"

namespace kiln::runtime {

Result<std::shared_ptr<const ComputeDevice>> openDevice(const std::string& target, const std::string& library,
                                                        int ordinal) {
  if (isVulkan(target)) return VulkanDevice::open(library, ordinal);
  return CudaDevice::open(library, ordinal);
}

const char* defaultDriverLibrary(const std::string& target) {
  return isVulkan(target) ? kVulkanLoaderLibrary : kCudaDriverLibrary;
}

}  // namespace kiln::runtime
