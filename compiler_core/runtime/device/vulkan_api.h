// The part of Vulkan 1.3 that the runtime uses, as tables of functions. Types and numbers are those of
// Khronos's header (Vulkan specification, 1.3), which is needed to build; nothing of Vulkan is linked.
#pragma once

#define VK_NO_PROTOTYPES
#include <vulkan/vulkan_core.h>

namespace kiln::runtime::vulkan {

// F(member, symbol): functions of no instance, of an instance, and of a device.
#define KILN_VULKAN_GLOBAL_FUNCTIONS(F)                   \
  F(enumerateInstanceVersion, vkEnumerateInstanceVersion) \
  F(createInstance, vkCreateInstance)

#define KILN_VULKAN_INSTANCE_FUNCTIONS(F)                                     \
  F(destroyInstance, vkDestroyInstance)                                       \
  F(enumeratePhysicalDevices, vkEnumeratePhysicalDevices)                     \
  F(getPhysicalDeviceProperties, vkGetPhysicalDeviceProperties)               \
  F(getPhysicalDeviceProperties2, vkGetPhysicalDeviceProperties2)             \
  F(getPhysicalDeviceFeatures2, vkGetPhysicalDeviceFeatures2)                 \
  F(getPhysicalDeviceMemoryProperties2, vkGetPhysicalDeviceMemoryProperties2) \
  F(getPhysicalDeviceQueueFamilies, vkGetPhysicalDeviceQueueFamilyProperties) \
  F(enumerateDeviceExtensions, vkEnumerateDeviceExtensionProperties)          \
  F(createDevice, vkCreateDevice)                                             \
  F(getDeviceProcAddr, vkGetDeviceProcAddr)

#define KILN_VULKAN_DEVICE_FUNCTIONS(F)                         \
  F(destroyDevice, vkDestroyDevice)                             \
  F(getDeviceQueue, vkGetDeviceQueue)                           \
  F(allocateMemory, vkAllocateMemory)                           \
  F(freeMemory, vkFreeMemory)                                   \
  F(mapMemory, vkMapMemory)                                     \
  F(createBuffer, vkCreateBuffer)                               \
  F(destroyBuffer, vkDestroyBuffer)                             \
  F(getBufferMemoryRequirements, vkGetBufferMemoryRequirements) \
  F(bindBufferMemory, vkBindBufferMemory)                       \
  F(getBufferDeviceAddress, vkGetBufferDeviceAddress)           \
  F(createShaderModule, vkCreateShaderModule)                   \
  F(destroyShaderModule, vkDestroyShaderModule)                 \
  F(createPipelineLayout, vkCreatePipelineLayout)               \
  F(destroyPipelineLayout, vkDestroyPipelineLayout)             \
  F(createComputePipelines, vkCreateComputePipelines)           \
  F(createPipelineCache, vkCreatePipelineCache)                 \
  F(destroyPipelineCache, vkDestroyPipelineCache)               \
  F(getPipelineCacheData, vkGetPipelineCacheData)               \
  F(destroyPipeline, vkDestroyPipeline)                         \
  F(createCommandPool, vkCreateCommandPool)                     \
  F(destroyCommandPool, vkDestroyCommandPool)                   \
  F(allocateCommandBuffers, vkAllocateCommandBuffers)           \
  F(beginCommandBuffer, vkBeginCommandBuffer)                   \
  F(endCommandBuffer, vkEndCommandBuffer)                       \
  F(cmdBindPipeline, vkCmdBindPipeline)                         \
  F(cmdPushConstants, vkCmdPushConstants)                       \
  F(cmdDispatch, vkCmdDispatch)                                 \
  F(cmdPipelineBarrier, vkCmdPipelineBarrier)                   \
  F(cmdCopyBuffer, vkCmdCopyBuffer)                             \
  F(cmdFillBuffer, vkCmdFillBuffer)                             \
  F(cmdResetQueryPool, vkCmdResetQueryPool)                     \
  F(cmdWriteTimestamp, vkCmdWriteTimestamp)                     \
  F(createQueryPool, vkCreateQueryPool)                         \
  F(destroyQueryPool, vkDestroyQueryPool)                       \
  F(getQueryPoolResults, vkGetQueryPoolResults)                 \
  F(createSemaphore, vkCreateSemaphore)                         \
  F(destroySemaphore, vkDestroySemaphore)                       \
  F(waitSemaphores, vkWaitSemaphores)                           \
  F(queueSubmit, vkQueueSubmit)

#define KILN_VULKAN_MEMBER(member, symbol) PFN_##symbol member = nullptr;
struct GlobalTable {
  PFN_vkGetInstanceProcAddr getInstanceProcAddr = nullptr;
  KILN_VULKAN_GLOBAL_FUNCTIONS(KILN_VULKAN_MEMBER)
};
struct InstanceTable {
  KILN_VULKAN_INSTANCE_FUNCTIONS(KILN_VULKAN_MEMBER)
};
struct DeviceTable {
  KILN_VULKAN_DEVICE_FUNCTIONS(KILN_VULKAN_MEMBER)
};
#undef KILN_VULKAN_MEMBER

}  // namespace kiln::runtime::vulkan
