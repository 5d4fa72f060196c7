// What a Vulkan driver says of a physical device.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "compiler_core/runtime/device/device_info.h"
#include "compiler_core/runtime/device/vulkan_cache.h"
#include "compiler_core/runtime/device/vulkan_driver.h"

namespace kiln::runtime {

// What a device can do for kernels: those of Vulkan 1.3's features that a module may ask for.
struct VulkanFeatures {
  VkPhysicalDeviceFeatures2 core{};
  VkPhysicalDeviceVulkan11Features v11{};
  VkPhysicalDeviceVulkan12Features v12{};
  VkPhysicalDeviceVulkan13Features v13{};
};

struct VulkanLimits {
  std::uint32_t gridMost[3] = {};   // blocks of a launch
  std::uint32_t blockMost[3] = {};  // threads of a block by dimension
  std::uint32_t threadsMost = 0;    // and together
  std::uint32_t sharedBytes = 0;    // of a block
  std::uint32_t pushBytes = 0;
  std::uint64_t allocationBytes = 0;  // the largest that can be made
  std::uint32_t subgroup = 0;
  double tickNanoseconds = 0;  // of a timestamp; 0: it has none
};

struct VulkanDescription {
  DeviceInfo info;
  VulkanCacheKey cacheKey;
  VulkanLimits limits;
  VulkanFeatures features;
  std::uint32_t queueFamily = 0;
  VkPhysicalDeviceMemoryProperties memory{};
  std::uint32_t heap = 0;    // of the device's own memory
  bool tellsBudget = false;  // VK_EXT_memory_budget
};

// The first of these types of memory (a bit each) that is the device's own; or the processor's, seen by both
// alike, cached where there is such.
std::optional<std::uint32_t> deviceMemoryType(const VkPhysicalDeviceMemoryProperties& memory,
                                              std::uint32_t types);
std::optional<std::uint32_t> hostMemoryType(const VkPhysicalDeviceMemoryProperties& memory,
                                            std::uint32_t types);

// kUnimplemented naming how many devices there are when `ordinal` is none of them; naming what it lacks for a
// device that cannot run Kiln's kernels: Vulkan 1.3, a queue for kernels, buffer addresses and the like.
// kInternal for a driver whose limits cannot be true.
Result<VulkanDescription> describeVulkanDevice(const VulkanDriver& driver, int ordinal);

// The devices that can run kernels, in the driver's order, with their ordinals.
Result<std::vector<DeviceInfo>> listVulkanDevices(const std::string& library);

}  // namespace kiln::runtime
