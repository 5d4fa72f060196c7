#include "compiler_core/runtime/device/open_device.h"

#include <dlfcn.h>

#include <algorithm>

#include "compiler_core/runtime/device/cuda_device.h"
#include "compiler_core/runtime/device/vulkan_device.h"
#include "manifest/base/printable.h"
#include "manifest/spec/target_device.h"

namespace kiln::runtime {

Result<std::shared_ptr<const ComputeDevice>> openDevice(const std::string& target, const std::string& library,
                                                        int ordinal) {
  if (isVulkan(target)) return VulkanDevice::open(library, ordinal);
  return CudaDevice::open(library, ordinal);
}

DeviceApi apiOf(const std::string& library) {
  // "" would be the program itself, which both interfaces refuse by name.
  void* const handle =
      library.empty() ? nullptr : ::dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  const bool isVulkan = handle != nullptr ? ::dlsym(handle, "vkGetInstanceProcAddr") != nullptr
                                          : library.find("vulkan") != std::string::npos;
  if (handle != nullptr) ::dlclose(handle);
  return isVulkan ? DeviceApi::kVulkan : DeviceApi::kCuda;
}

Result<std::vector<DeviceInfo>> listDevicesOf(const std::string& library) {
  return apiOf(library) == DeviceApi::kVulkan ? listVulkanDevices(library) : listDevices(library);
}

Result<int> ordinalOf(const std::string& library, const std::string& uuid) {
  KILN_ASSIGN(const auto devices, listDevicesOf(library));
  const auto found = std::ranges::find(devices, uuid, &DeviceInfo::uuid);
  if (found != devices.end()) return found->ordinal;
  std::string all;
  for (const DeviceInfo& device : devices)
    all += (all.empty() ? "" : ", ") + device.uuid + " (" + device.name + ")";
  return fail(Code::kUnimplemented, "there is no device " + inQuotes(uuid) + ": " + library + " has " + all);
}

const char* defaultDriverLibrary(const std::string& target) {
  return isVulkan(target) ? kVulkanLoaderLibrary : kCudaDriverLibrary;
}

}  // namespace kiln::runtime
