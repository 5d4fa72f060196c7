#include "compiler_core/runtime/device/vulkan_info.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <optional>

#include "manifest/base/printable.h"

namespace kiln::runtime {
namespace {

// Guaranteed by the specification (Vulkan 1.3, table of required limits): below them a driver lies.
constexpr std::uint32_t kLeastThreads = 128, kLeastShared = 16384, kLeastPush = 128;
constexpr std::uint32_t kLeastGrid = 65535;

std::string uuidText(const std::uint8_t (&uuid)[VK_UUID_SIZE]) {
  std::string text;
  for (std::size_t i = 0; i < VK_UUID_SIZE; ++i) {
    char digits[4];
    std::snprintf(digits, sizeof digits, "%02x", uuid[i]);
    if (i == 4 || i == 6 || i == 8 || i == 10) text += "-";
    text += digits;
  }
  return text;
}

// Of an array that a driver should have ended with a zero.
template <std::size_t N>
std::string textOf(const char (&chars)[N]) {
  return printable(std::string(chars, ::strnlen(chars, N)), 128);
}

std::string versionText(std::uint32_t version) {
  return std::to_string(VK_API_VERSION_MAJOR(version)) + "." + std::to_string(VK_API_VERSION_MINOR(version)) +
         "." + std::to_string(VK_API_VERSION_PATCH(version));
}

const char* typeText(VkPhysicalDeviceType type) {
  switch (type) {
    case VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU:
      return "discrete";
    case VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU:
      return "integrated";
    case VK_PHYSICAL_DEVICE_TYPE_VIRTUAL_GPU:
      return "virtual";
    case VK_PHYSICAL_DEVICE_TYPE_CPU:
      return "software";
    default:
      return "other";
  }
}

std::string versionText(const VkConformanceVersion& version) {
  return std::to_string(version.major) + "." + std::to_string(version.minor) + "." +
         std::to_string(version.subminor) + "." + std::to_string(version.patch);
}

// The first family that serves kernels and copies; one without graphics, where there is one.
std::optional<std::uint32_t> kernelQueue(const std::vector<VkQueueFamilyProperties>& families) {
  std::optional<std::uint32_t> found;
  for (std::uint32_t i = 0; i < families.size(); ++i) {
    if (families[i].queueCount == 0 || (families[i].queueFlags & VK_QUEUE_COMPUTE_BIT) == 0) continue;
    if ((families[i].queueFlags & VK_QUEUE_GRAPHICS_BIT) == 0) return i;
    if (!found) found = i;
  }
  return found;
}

std::optional<std::uint32_t> memoryType(const VkPhysicalDeviceMemoryProperties& memory, std::uint32_t types,
                                        VkMemoryPropertyFlags wanted) {
  // Others (protected, lazily allocated, of extensions) are for special uses.
  constexpr VkMemoryPropertyFlags kPlain =
      VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT | VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT |
      VK_MEMORY_PROPERTY_HOST_COHERENT_BIT | VK_MEMORY_PROPERTY_HOST_CACHED_BIT;
  for (std::uint32_t i = 0; i < memory.memoryTypeCount; ++i) {
    const VkMemoryPropertyFlags flags = memory.memoryTypes[i].propertyFlags;
    if ((types >> i & 1) != 0 && (flags & wanted) == wanted && (flags & ~kPlain) == 0) return i;
  }
  return {};
}

// Names of what the device lacks of what every module needs.
std::string lacking(const VulkanFeatures& features) {
  std::string text;
  const auto need = [&](VkBool32 has, const char* name) {
    if (has == VK_FALSE) text += (text.empty() ? "" : ", ") + std::string(name);
  };
  need(features.v12.bufferDeviceAddress, "bufferDeviceAddress");
  need(features.v12.vulkanMemoryModel, "vulkanMemoryModel");
  need(features.v12.timelineSemaphore, "timelineSemaphore");
  need(features.core.features.shaderInt64, "shaderInt64");
  return text;
}

}  // namespace

std::optional<std::uint32_t> deviceMemoryType(const VkPhysicalDeviceMemoryProperties& memory,
                                              std::uint32_t types) {
  return memoryType(memory, types, VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT);
}

std::optional<std::uint32_t> hostMemoryType(const VkPhysicalDeviceMemoryProperties& memory,
                                            std::uint32_t types) {
  constexpr VkMemoryPropertyFlags kShared =
      VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
  const auto cached = memoryType(memory, types, kShared | VK_MEMORY_PROPERTY_HOST_CACHED_BIT);
  return cached ? cached : memoryType(memory, types, kShared);
}

namespace {

void readProperties(const VulkanDriver& driver, VkPhysicalDevice device, VulkanDescription& out) {
  VkPhysicalDeviceVulkan13Properties v13{};
  v13.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_3_PROPERTIES;
  VkPhysicalDeviceVulkan12Properties v12{};
  v12.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_PROPERTIES;
  v12.pNext = &v13;
  VkPhysicalDeviceVulkan11Properties v11{};
  v11.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_1_PROPERTIES;
  v11.pNext = &v12;
  VkPhysicalDeviceProperties2 properties{};
  properties.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2;
  properties.pNext = &v11;
  driver->getPhysicalDeviceProperties2(device, &properties);
  const VkPhysicalDeviceLimits& limits = properties.properties.limits;
  out.info.uuid = uuidText(v11.deviceUUID);
  out.info.type = typeText(properties.properties.deviceType);
  out.info.driver = textOf(v12.driverName) + ": " + textOf(v12.driverInfo);
  out.info.conformance = versionText(v12.conformanceVersion);
  for (int i = 0; i < 3; ++i) {
    out.limits.gridMost[i] = limits.maxComputeWorkGroupCount[i];
    out.limits.blockMost[i] = limits.maxComputeWorkGroupSize[i];
  }
  const VkPhysicalDeviceProperties& of = properties.properties;
  out.cacheKey = {of.vendorID, of.deviceID, of.driverVersion, {}};
  std::ranges::copy(of.pipelineCacheUUID, out.cacheKey.uuid.begin());
  out.limits.threadsMost = limits.maxComputeWorkGroupInvocations;
  out.limits.sharedBytes = limits.maxComputeSharedMemorySize;
  out.limits.pushBytes = limits.maxPushConstantsSize;
  out.limits.allocationBytes = std::min(v11.maxMemoryAllocationSize, v13.maxBufferSize);
  if (std::isfinite(limits.timestampPeriod))
    out.limits.tickNanoseconds = static_cast<double>(limits.timestampPeriod);
  out.limits.subgroup = v11.subgroupSize;
}

void readFeatures(const VulkanDriver& driver, VkPhysicalDevice device, VulkanDescription& out) {
  out.features.core.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2;
  out.features.v11.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_1_FEATURES;
  out.features.v12.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES;
  out.features.v13.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_3_FEATURES;
  out.features.core.pNext = &out.features.v11;
  out.features.v11.pNext = &out.features.v12;
  out.features.v12.pNext = &out.features.v13;
  driver->getPhysicalDeviceFeatures2(device, &out.features.core);
  // The structures are copied from here on.
  out.features.core.pNext = out.features.v11.pNext = out.features.v12.pNext = nullptr;
}

// Memory, and whether the limits can be true.
Status readMemory(const VulkanDriver& driver, VkPhysicalDevice device, const std::string& what,
                  VulkanDescription& out) {
  VkPhysicalDeviceMemoryProperties2 memory{};
  memory.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MEMORY_PROPERTIES_2;
  driver->getPhysicalDeviceMemoryProperties2(device, &memory);
  const VkPhysicalDeviceMemoryProperties& types = memory.memoryProperties;
  const auto impossible = [&](const std::string& said) {
    return fail(Code::kInternal, what + ": its driver (" + out.info.driver + ") says that " + said +
                                     ", which cannot be; update the driver");
  };
  if (types.memoryTypeCount > VK_MAX_MEMORY_TYPES || types.memoryHeapCount > VK_MAX_MEMORY_HEAPS)
    return impossible("it has more kinds of memory than Vulkan knows");
  const auto own = deviceMemoryType(types, UINT32_MAX);
  if (!own || !hostMemoryType(types, UINT32_MAX))
    return impossible("it has no memory of its own, or none that the processor sees");
  out.memory = types;
  out.heap = types.memoryTypes[*own].heapIndex;
  if (out.heap >= types.memoryHeapCount) return impossible("its memory is of a heap that there is not");
  out.info.memoryBytes = types.memoryHeaps[out.heap].size;

  const VulkanLimits& most = out.limits;
  if (most.threadsMost < kLeastThreads || most.sharedBytes < kLeastShared || most.pushBytes < kLeastPush ||
      std::ranges::any_of(
          most.gridMost, [](std::uint32_t n) { return n < kLeastGrid; }) ||
      most.blockMost[0] < kLeastThreads || most.allocationBytes == 0)
    return impossible("a block may have " + std::to_string(most.threadsMost) + " threads and " +
                      std::to_string(most.sharedBytes) + " bytes, a launch " +
                      std::to_string(most.gridMost[0]) + " blocks, an allocation " +
                      std::to_string(most.allocationBytes) + " bytes");
  return {};
}

Status readExtensions(const VulkanDriver& driver, VkPhysicalDevice device, const std::string& what,
                      VulkanDescription& out) {
  std::uint32_t extensions = 0;
  KILN_TRY(VulkanDriver::check(driver->enumerateDeviceExtensions(device, nullptr, &extensions, nullptr),
                               what + ": listing its extensions"));
  std::vector<VkExtensionProperties> list(std::min<std::uint32_t>(extensions, 4096));
  extensions = static_cast<std::uint32_t>(list.size());
  const VkResult listed = driver->enumerateDeviceExtensions(device, nullptr, &extensions, list.data());
  if (listed != VK_INCOMPLETE) KILN_TRY(VulkanDriver::check(listed, what + ": listing its extensions"));
  list.resize(std::min<std::size_t>(extensions, list.size()));
  out.tellsBudget = std::ranges::any_of(list, [](const VkExtensionProperties& one) {
    return textOf(one.extensionName) == VK_EXT_MEMORY_BUDGET_EXTENSION_NAME;
  });
  return {};
}

}  // namespace

Result<VulkanDescription> describeVulkanDevice(const VulkanDriver& driver, int ordinal) {
  const auto& devices = driver.devices();
  if (ordinal < 0 || static_cast<std::size_t>(ordinal) >= devices.size()) {
    return fail(Code::kUnimplemented, "there is no device " + std::to_string(ordinal) + ": " +
                                          driver.library() + " has " + std::to_string(devices.size()) +
                                          ", numbered from 0");
  }
  const VkPhysicalDevice device = devices[static_cast<std::size_t>(ordinal)];
  VulkanDescription out;
  out.info.api = DeviceApi::kVulkan;
  out.info.ordinal = ordinal;

  // A driver of an older Vulkan does not know the structures asked for below.
  VkPhysicalDeviceProperties plain{};
  driver->getPhysicalDeviceProperties(device, &plain);
  out.info.name = textOf(plain.deviceName);
  out.info.major = static_cast<int>(VK_API_VERSION_MAJOR(plain.apiVersion));
  out.info.minor = static_cast<int>(VK_API_VERSION_MINOR(plain.apiVersion));
  out.info.driverVersion = out.info.major * 1000 + out.info.minor * 10;
  out.info.apiVersion = versionText(plain.apiVersion);
  const std::string what = "device " + std::to_string(ordinal) + ", " + out.info.name;
  if (plain.apiVersion < VK_API_VERSION_1_3) {
    return fail(Code::kUnimplemented,
                what + ", serves Vulkan " + out.info.computeCapability() +
                    "; kernels need 1.3 or later: update its driver, or choose another device");
  }

  readProperties(driver, device, out);
  readFeatures(driver, device, out);
  if (const std::string missing = lacking(out.features); !missing.empty())
    return fail(Code::kUnimplemented,
                what + ", cannot run kernels: it has no " + missing + "; choose another device");

  std::uint32_t count = 64;
  std::vector<VkQueueFamilyProperties> families(count);
  driver->getPhysicalDeviceQueueFamilies(device, &count, families.data());
  families.resize(std::min<std::size_t>(count, families.size()));
  const auto family = kernelQueue(families);
  if (!family) return fail(Code::kUnimplemented, what + ", has no queue for kernels; choose another device");
  out.queueFamily = *family;
  if (families[*family].timestampValidBits != 64) out.limits.tickNanoseconds = 0;

  KILN_TRY(readMemory(driver, device, what, out));
  KILN_TRY(readExtensions(driver, device, what, out));
  return out;
}

Result<std::vector<DeviceInfo>> listVulkanDevices(const std::string& library) {
  KILN_ASSIGN(const auto driver, VulkanDriver::open(library));
  std::vector<DeviceInfo> devices;
  std::optional<Error> refused;
  for (std::size_t i = 0; i < driver->devices().size(); ++i) {
    auto described = describeVulkanDevice(*driver, static_cast<int>(i));
    if (described) {
      devices.push_back(std::move(described->info));
    } else if (!refused) {
      refused = described.error();
    }
  }
  if (devices.empty() && refused) return fail(*refused);
  return devices;
}

}  // namespace kiln::runtime
