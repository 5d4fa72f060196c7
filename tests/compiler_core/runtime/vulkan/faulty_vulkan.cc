// A Vulkan loader for tests, in front of the real one: with the validation layer on where it is installed,
// and with what KILN_EMULATED_VULKAN_FAULT names done instead of what is asked. Read at each call:
//   lost            the device is lost when work is handed over
//   hang            work that was handed over never ends
//   memory          no allocation succeeds
//   wrong           kernels are not run
//   abort           making a device ends the process
//   late-lost, late-hang, late-wrong, late-abort, late-stuck   the same, or the call never returns, once the
//                   process has launched more kernels than a worker does to try a device out
//   again           kernels are not run but in the first process that writes the file
//   KILN_EMULATED_VULKAN_MARK,
//                   and in those that cannot: sandboxes do not show it
//   threads, types, heap, old, address   lies: no threads in a block, more memory types than Vulkan knows, a
//                   heap that there is not, Vulkan 1.1, buffers at address 0
//   cache           pipeline caches have content: kCacheContent behind the driver's header
//   no-addresses    the device has no bufferDeviceAddress
//   none            there is no device
#include "tests/compiler_core/runtime/vulkan/faulty_vulkan.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "compiler_core/runtime/device/vulkan_api.h"

namespace {

bool faulty(const char* fault) {
  const char* const named = std::getenv("KILN_EMULATED_VULKAN_FAULT");
  return named != nullptr && std::strcmp(named, fault) == 0;
}

struct State {
  std::mutex mutex;
  PFN_vkGetInstanceProcAddr real = nullptr;
  VkInstance instance = nullptr;  // the last one
  PFN_vkGetDeviceProcAddr device = nullptr;
  VkDevice logical = nullptr;  // likewise
  std::map<VkInstance, VkDebugUtilsMessengerEXT> messengers;
  bool validates = false;
  std::atomic<int> launches = 0;
  std::uint64_t messages = 0;
  std::string first;
  std::uint64_t cacheGiven = 0;
};
State& state() {
  static State one;
  return one;
}

bool late(const std::string& fault) {
  constexpr int kOfATrial = 1;
  return state().launches > kOfATrial && faulty(("late-" + fault).c_str());
}

bool isMarked() {
  const char* const mark = std::getenv("KILN_EMULATED_VULKAN_MARK");
  const int file = mark == nullptr ? -1 : ::open(mark, O_CREAT | O_EXCL | O_WRONLY, 0600);
  if (file < 0) return errno == EEXIST;
  ::close(file);
  return false;
}

PFN_vkGetInstanceProcAddr realLoader() {
  const std::lock_guard lock(state().mutex);
  if (state().real == nullptr) {
    void* const handle = ::dlopen("libvulkan.so.1", RTLD_NOW | RTLD_LOCAL);
    if (handle == nullptr) return nullptr;
    state().real = reinterpret_cast<PFN_vkGetInstanceProcAddr>(::dlsym(handle, "vkGetInstanceProcAddr"));
  }
  return state().real;
}

template <class F>
F onInstance(const char* name) {
  return reinterpret_cast<F>(realLoader()(state().instance, name));
}
template <class F>
F onDevice(const char* name) {
  return reinterpret_cast<F>(state().device(state().logical, name));
}

VKAPI_ATTR VkBool32 VKAPI_CALL heard(VkDebugUtilsMessageSeverityFlagBitsEXT,
                                     VkDebugUtilsMessageTypeFlagsEXT types,
                                     const VkDebugUtilsMessengerCallbackDataEXT* data, void*) {
  // The loader tells of drivers that do not fit this machine as "general".
  if ((types & VK_DEBUG_UTILS_MESSAGE_TYPE_VALIDATION_BIT_EXT) == 0) return VK_FALSE;
  const std::lock_guard lock(state().mutex);
  if (state().messages++ == 0) state().first = data->pMessage;
  return VK_FALSE;
}

bool hasLayer(const char* wanted) {
  const auto list = reinterpret_cast<PFN_vkEnumerateInstanceLayerProperties>(
      realLoader()(nullptr, "vkEnumerateInstanceLayerProperties"));
  std::uint32_t count = 0;
  if (list == nullptr || list(&count, nullptr) != VK_SUCCESS) return false;
  std::vector<VkLayerProperties> layers(count);
  if (list(&count, layers.data()) < VK_SUCCESS) return false;
  for (const VkLayerProperties& layer : layers)
    if (std::strcmp(layer.layerName, wanted) == 0) return true;
  return false;
}

VKAPI_ATTR VkResult VKAPI_CALL createInstance(const VkInstanceCreateInfo* info,
                                              const VkAllocationCallbacks* allocator, VkInstance* instance) {
  constexpr const char* kLayer = "VK_LAYER_KHRONOS_validation";
  const char* const extension = VK_EXT_DEBUG_UTILS_EXTENSION_NAME;
  const bool validates = hasLayer(kLayer);
  VkDebugUtilsMessengerCreateInfoEXT messenger{};
  messenger.sType = VK_STRUCTURE_TYPE_DEBUG_UTILS_MESSENGER_CREATE_INFO_EXT;
  messenger.messageSeverity =
      VK_DEBUG_UTILS_MESSAGE_SEVERITY_WARNING_BIT_EXT | VK_DEBUG_UTILS_MESSAGE_SEVERITY_ERROR_BIT_EXT;
  messenger.messageType =
      VK_DEBUG_UTILS_MESSAGE_TYPE_VALIDATION_BIT_EXT | VK_DEBUG_UTILS_MESSAGE_TYPE_GENERAL_BIT_EXT;
  messenger.pfnUserCallback = heard;
  VkInstanceCreateInfo more = *info;
  if (validates) {
    more.pNext = &messenger;
    more.enabledLayerCount = 1;
    more.ppEnabledLayerNames = &kLayer;
    more.enabledExtensionCount = 1;
    more.ppEnabledExtensionNames = &extension;
  }
  const VkResult made = reinterpret_cast<PFN_vkCreateInstance>(realLoader()(nullptr, "vkCreateInstance"))(
      &more, allocator, instance);
  if (made != VK_SUCCESS) return made;
  state().instance = *instance;
  state().validates = validates;
  VkDebugUtilsMessengerEXT handle = VK_NULL_HANDLE;
  if (validates)
    onInstance<PFN_vkCreateDebugUtilsMessengerEXT>("vkCreateDebugUtilsMessengerEXT")(*instance, &messenger,
                                                                                     nullptr, &handle);
  const std::lock_guard lock(state().mutex);
  state().messengers[*instance] = handle;
  return VK_SUCCESS;
}

VKAPI_ATTR void VKAPI_CALL destroyInstance(VkInstance instance, const VkAllocationCallbacks* allocator) {
  VkDebugUtilsMessengerEXT messenger = VK_NULL_HANDLE;
  {
    const std::lock_guard lock(state().mutex);
    messenger = state().messengers.extract(instance).mapped();
  }
  const PFN_vkGetInstanceProcAddr real = realLoader();
  if (messenger != VK_NULL_HANDLE)
    reinterpret_cast<PFN_vkDestroyDebugUtilsMessengerEXT>(real(instance, "vkDestroyDebugUtilsMessengerEXT"))(
        instance, messenger, nullptr);
  reinterpret_cast<PFN_vkDestroyInstance>(real(instance, "vkDestroyInstance"))(instance, allocator);
}

VKAPI_ATTR VkResult VKAPI_CALL enumeratePhysicalDevices(VkInstance instance, std::uint32_t* count,
                                                        VkPhysicalDevice* devices) {
  if (faulty("none")) {
    *count = 0;
    return VK_SUCCESS;
  }
  return onInstance<PFN_vkEnumeratePhysicalDevices>("vkEnumeratePhysicalDevices")(instance, count, devices);
}

VKAPI_ATTR void VKAPI_CALL getProperties(VkPhysicalDevice device, VkPhysicalDeviceProperties* properties) {
  onInstance<PFN_vkGetPhysicalDeviceProperties>("vkGetPhysicalDeviceProperties")(device, properties);
  if (faulty("old")) properties->apiVersion = VK_API_VERSION_1_1;
}

VKAPI_ATTR void VKAPI_CALL getProperties2(VkPhysicalDevice device, VkPhysicalDeviceProperties2* properties) {
  onInstance<PFN_vkGetPhysicalDeviceProperties2>("vkGetPhysicalDeviceProperties2")(device, properties);
  if (faulty("threads")) properties->properties.limits.maxComputeWorkGroupInvocations = 0;
}

VKAPI_ATTR void VKAPI_CALL getFeatures2(VkPhysicalDevice device, VkPhysicalDeviceFeatures2* features) {
  onInstance<PFN_vkGetPhysicalDeviceFeatures2>("vkGetPhysicalDeviceFeatures2")(device, features);
  if (!faulty("no-addresses")) return;
  for (auto* next = static_cast<VkBaseOutStructure*>(features->pNext); next != nullptr; next = next->pNext)
    if (next->sType == VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES)
      reinterpret_cast<VkPhysicalDeviceVulkan12Features*>(next)->bufferDeviceAddress = VK_FALSE;
}

VKAPI_ATTR void VKAPI_CALL getMemory2(VkPhysicalDevice device, VkPhysicalDeviceMemoryProperties2* memory) {
  onInstance<PFN_vkGetPhysicalDeviceMemoryProperties2>("vkGetPhysicalDeviceMemoryProperties2")(device,
                                                                                               memory);
  if (faulty("types")) memory->memoryProperties.memoryTypeCount = 1000000;
  if (faulty("heap"))
    for (VkMemoryType& type : memory->memoryProperties.memoryTypes) type.heapIndex = 77;
}

VKAPI_ATTR VkResult VKAPI_CALL allocateMemory(VkDevice device, const VkMemoryAllocateInfo* info,
                                              const VkAllocationCallbacks* allocator,
                                              VkDeviceMemory* memory) {
  if (faulty("memory")) return VK_ERROR_OUT_OF_DEVICE_MEMORY;
  return onDevice<PFN_vkAllocateMemory>("vkAllocateMemory")(device, info, allocator, memory);
}

VKAPI_ATTR VkDeviceAddress VKAPI_CALL getAddress(VkDevice device, const VkBufferDeviceAddressInfo* info) {
  if (faulty("address")) return 0;
  return onDevice<PFN_vkGetBufferDeviceAddress>("vkGetBufferDeviceAddress")(device, info);
}

VKAPI_ATTR VkResult VKAPI_CALL queueSubmit(VkQueue queue, std::uint32_t count, const VkSubmitInfo* infos,
                                           VkFence fence) {
  if (late("abort")) std::abort();
  while (late("stuck")) ::pause();
  if (faulty("lost") || late("lost")) return VK_ERROR_DEVICE_LOST;
  if (faulty("hang") || late("hang")) return VK_SUCCESS;
  return onDevice<PFN_vkQueueSubmit>("vkQueueSubmit")(queue, count, infos, fence);
}

VKAPI_ATTR VkResult VKAPI_CALL waitSemaphores(VkDevice device, const VkSemaphoreWaitInfo* info,
                                              std::uint64_t timeout) {
  if (faulty("hang") || late("hang")) return VK_TIMEOUT;
  return onDevice<PFN_vkWaitSemaphores>("vkWaitSemaphores")(device, info, timeout);
}

constexpr char kCacheContent[] = "what a driver has compiled";

VKAPI_ATTR VkResult VKAPI_CALL createCache(VkDevice device, const VkPipelineCacheCreateInfo* info,
                                           const VkAllocationCallbacks* allocator, VkPipelineCache* cache) {
  {
    const std::lock_guard lock(state().mutex);
    state().cacheGiven = info->initialDataSize;
  }
  VkPipelineCacheCreateInfo less = *info;
  if (less.initialDataSize > sizeof kCacheContent) less.initialDataSize -= sizeof kCacheContent;
  return onDevice<PFN_vkCreatePipelineCache>("vkCreatePipelineCache")(device, &less, allocator, cache);
}

VKAPI_ATTR VkResult VKAPI_CALL getCacheData(VkDevice device, VkPipelineCache cache, std::size_t* bytes,
                                            void* data) {
  const auto real = onDevice<PFN_vkGetPipelineCacheData>("vkGetPipelineCacheData");
  if (!faulty("cache")) return real(device, cache, bytes, data);
  std::size_t own = 0;
  if (const VkResult sized = real(device, cache, &own, nullptr); sized != VK_SUCCESS) return sized;
  if (data != nullptr) {
    if (const VkResult read = real(device, cache, &own, data); read != VK_SUCCESS) return read;
    std::memcpy(static_cast<char*>(data) + own, kCacheContent, sizeof kCacheContent);
  }
  *bytes = own + sizeof kCacheContent;
  return VK_SUCCESS;
}

VKAPI_ATTR void VKAPI_CALL cmdDispatch(VkCommandBuffer commands, std::uint32_t x, std::uint32_t y,
                                       std::uint32_t z) {
  ++state().launches;
  if (faulty("again") && isMarked()) return;
  if (!faulty("wrong") && !late("wrong")) onDevice<PFN_vkCmdDispatch>("vkCmdDispatch")(commands, x, y, z);
}

VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL getDeviceProcAddr(VkDevice device, const char* name) {
  state().logical = device;
  const std::string wanted = name;
  if (wanted == "vkAllocateMemory") return reinterpret_cast<PFN_vkVoidFunction>(allocateMemory);
  if (wanted == "vkGetBufferDeviceAddress") return reinterpret_cast<PFN_vkVoidFunction>(getAddress);
  if (wanted == "vkQueueSubmit") return reinterpret_cast<PFN_vkVoidFunction>(queueSubmit);
  if (wanted == "vkWaitSemaphores") return reinterpret_cast<PFN_vkVoidFunction>(waitSemaphores);
  if (wanted == "vkCreatePipelineCache") return reinterpret_cast<PFN_vkVoidFunction>(createCache);
  if (wanted == "vkGetPipelineCacheData") return reinterpret_cast<PFN_vkVoidFunction>(getCacheData);
  if (wanted == "vkCmdDispatch") return reinterpret_cast<PFN_vkVoidFunction>(cmdDispatch);
  return state().device(device, name);
}

VKAPI_ATTR VkResult VKAPI_CALL createDevice(VkPhysicalDevice physical, const VkDeviceCreateInfo* info,
                                            const VkAllocationCallbacks* allocator, VkDevice* device) {
  if (faulty("abort")) std::abort();
  state().device = onInstance<PFN_vkGetDeviceProcAddr>("vkGetDeviceProcAddr");
  return onInstance<PFN_vkCreateDevice>("vkCreateDevice")(physical, info, allocator, device);
}

}  // namespace

extern "C" {

__attribute__((visibility("default"))) VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL
vkGetInstanceProcAddr(VkInstance instance, const char* name) {
  if (realLoader() == nullptr) return nullptr;
  const std::string wanted = name;
#define KILN_WRAP(symbol, mine) \
  if (wanted == #symbol) return reinterpret_cast<PFN_vkVoidFunction>(mine);
  KILN_WRAP(vkCreateInstance, createInstance)
  KILN_WRAP(vkDestroyInstance, destroyInstance)
  KILN_WRAP(vkEnumeratePhysicalDevices, enumeratePhysicalDevices)
  KILN_WRAP(vkGetPhysicalDeviceProperties, getProperties)
  KILN_WRAP(vkGetPhysicalDeviceProperties2, getProperties2)
  KILN_WRAP(vkGetPhysicalDeviceFeatures2, getFeatures2)
  KILN_WRAP(vkGetPhysicalDeviceMemoryProperties2, getMemory2)
  KILN_WRAP(vkCreateDevice, createDevice)
  KILN_WRAP(vkGetDeviceProcAddr, getDeviceProcAddr)
#undef KILN_WRAP
  return realLoader()(instance, name);
}

__attribute__((visibility("default"))) std::uint64_t kiln_faulty_vulkan_messages(char* text,
                                                                                 std::uint64_t capacity) {
  const std::lock_guard lock(state().mutex);
  std::snprintf(text, capacity, "%s", state().first.c_str());
  state().first.clear();
  return std::exchange(state().messages, 0);
}

__attribute__((visibility("default"))) std::uint64_t kiln_faulty_vulkan_cache_given() {
  const std::lock_guard lock(state().mutex);
  return state().cacheGiven;
}

__attribute__((visibility("default"))) int kiln_faulty_vulkan_validates() {
  return state().validates ? 1 : 0;
}
}
