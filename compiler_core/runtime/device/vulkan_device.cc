#include "compiler_core/runtime/device/vulkan_device.h"

#include <algorithm>

#include "compiler_core/runtime/device/device_layout.h"
#include "compiler_core/runtime/device/vulkan_memory.h"
#include "compiler_core/runtime/device/vulkan_module.h"
#include "compiler_core/runtime/device/vulkan_queue.h"

namespace kiln::runtime {
namespace {

// Of the features that a device has, those that modules may ask for and that the runtime itself uses. Others
// stay off: some make everything slower.
VulkanFeatures wanted(const VulkanFeatures& has) {
  VulkanFeatures out;
  out.core.sType = has.core.sType;
  out.v11.sType = has.v11.sType;
  out.v12.sType = has.v12.sType;
  out.v13.sType = has.v13.sType;
  out.core.features.shaderInt64 = has.core.features.shaderInt64;
  out.core.features.shaderInt16 = has.core.features.shaderInt16;
  out.core.features.shaderFloat64 = has.core.features.shaderFloat64;
  out.v11.storageBuffer16BitAccess = has.v11.storageBuffer16BitAccess;
  out.v11.uniformAndStorageBuffer16BitAccess = has.v11.uniformAndStorageBuffer16BitAccess;
  out.v11.storagePushConstant16 = has.v11.storagePushConstant16;
  out.v12.storageBuffer8BitAccess = has.v12.storageBuffer8BitAccess;
  out.v12.uniformAndStorageBuffer8BitAccess = has.v12.uniformAndStorageBuffer8BitAccess;
  out.v12.storagePushConstant8 = has.v12.storagePushConstant8;
  out.v12.shaderBufferInt64Atomics = has.v12.shaderBufferInt64Atomics;
  out.v12.shaderSharedInt64Atomics = has.v12.shaderSharedInt64Atomics;
  out.v12.shaderFloat16 = has.v12.shaderFloat16;
  out.v12.shaderInt8 = has.v12.shaderInt8;
  out.v12.scalarBlockLayout = has.v12.scalarBlockLayout;
  out.v12.shaderSubgroupExtendedTypes = has.v12.shaderSubgroupExtendedTypes;
  out.v12.timelineSemaphore = has.v12.timelineSemaphore;
  out.v12.bufferDeviceAddress = has.v12.bufferDeviceAddress;
  out.v12.vulkanMemoryModel = has.v12.vulkanMemoryModel;
  out.v12.vulkanMemoryModelDeviceScope = has.v12.vulkanMemoryModelDeviceScope;
  out.v13.shaderIntegerDotProduct = has.v13.shaderIntegerDotProduct;
  out.v13.maintenance4 = has.v13.maintenance4;
  return out;
}

// The entry of `map` whose [start, start + bytes) holds [at, at + bytes).
std::optional<VulkanDevice::Part> partOf(const std::map<std::uint64_t, VulkanBuffer>& map, std::uint64_t at,
                                         std::uint64_t bytes) {
  auto after = map.upper_bound(at);
  if (after == map.begin()) return {};
  const auto& [start, buffer] = *std::prev(after);
  const std::uint64_t offset = at - start;
  if (offset > buffer.bytes || bytes > buffer.bytes - offset) return {};
  return VulkanDevice::Part{buffer.buffer, offset};
}

}  // namespace

Result<std::shared_ptr<const VulkanDevice>> VulkanDevice::open(const std::string& library, int ordinal,
                                                               std::chrono::nanoseconds waitLimit) {
  KILN_ASSIGN(auto driver, VulkanDriver::open(library));
  KILN_ASSIGN(VulkanDescription about, describeVulkanDevice(*driver, ordinal));
  std::shared_ptr<VulkanDevice> device(new VulkanDevice(std::move(driver), std::move(about), waitLimit));
  KILN_TRY(device->makeDevice());
  return device;
}

Status VulkanDevice::makeDevice() {
  const std::string what = "opening " + text();
  VulkanFeatures features = wanted(about_.features);
  features.core.pNext = &features.v11;
  features.v11.pNext = &features.v12;
  features.v12.pNext = &features.v13;
  const float priority = 1;
  VkDeviceQueueCreateInfo queue{};
  queue.sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO;
  queue.queueFamilyIndex = about_.queueFamily;
  queue.queueCount = 1;
  queue.pQueuePriorities = &priority;
  const char* const budget = VK_EXT_MEMORY_BUDGET_EXTENSION_NAME;
  VkDeviceCreateInfo info{};
  info.sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO;
  info.pNext = &features.core;
  info.queueCreateInfoCount = 1;
  info.pQueueCreateInfos = &queue;
  info.enabledExtensionCount = about_.tellsBudget ? 1 : 0;
  info.ppEnabledExtensionNames = &budget;
  const VkPhysicalDevice physical = driver_->devices()[static_cast<std::size_t>(about_.info.ordinal)];
  KILN_TRY(check((*driver_)->createDevice(physical, &info, nullptr, &device_), what));
  std::string absent;
#define KILN_VULKAN_FIND(member, symbol)                                                           \
  table_.member = reinterpret_cast<PFN_##symbol>((*driver_)->getDeviceProcAddr(device_, #symbol)); \
  if (table_.member == nullptr && absent.empty()) absent = #symbol;
  KILN_VULKAN_DEVICE_FUNCTIONS(KILN_VULKAN_FIND)
#undef KILN_VULKAN_FIND
  if (!absent.empty()) return fail(Code::kUnimplemented, what + ": a driver of Vulkan 1.3 without " + absent);
  table_.getDeviceQueue(device_, about_.queueFamily, 0, &queue_);
  if (queue_ == VK_NULL_HANDLE) return fail(Code::kInternal, what + ": the driver gives no queue");
  return {};
}

VulkanDevice::~VulkanDevice() {
  if (device_ != VK_NULL_HANDLE && table_.destroyDevice != nullptr && !abandoned())
    table_.destroyDevice(device_, nullptr);
}

Status VulkanDevice::check(const DeviceImageInfo& image, const std::string& bytes) const {
  return checkModule(*this, image, bytes);
}

Result<std::unique_ptr<KernelModule>> VulkanDevice::load(const DeviceImageInfo& image,
                                                         const std::string& bytes,
                                                         const std::string& cache) const {
  return VulkanModule::load(std::static_pointer_cast<const VulkanDevice>(shared_from_this()), image, bytes,
                            cache);
}

Status VulkanDevice::check(VkResult code, const std::string& what) const {
  const Status status = VulkanDriver::check(code, what);
  if (!status && VulkanDriver::isSticky(code)) lose(status.error());
  return status;
}

bool VulkanDevice::abandoned() const {
  const MutexLock lock(buffers_);
  return abandoned_;
}

void VulkanDevice::abandon() const {
  const MutexLock lock(buffers_);
  abandoned_ = true;
  driver_->keep();
}

Status VulkanDevice::submit(const VkSubmitInfo& info, const std::string& what) const {
  const MutexLock lock(submitting_);
  return check(table_.queueSubmit(queue_, 1, &info, VK_NULL_HANDLE), what);
}

Result<std::uint64_t> VulkanDevice::freeBytes() const {
  const std::uint64_t all = about_.info.memoryBytes;
  if (!about_.tellsBudget) {
    const MutexLock lock(buffers_);
    return all - std::min(all, allocated_);
  }
  VkPhysicalDeviceMemoryBudgetPropertiesEXT budget{};
  budget.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MEMORY_BUDGET_PROPERTIES_EXT;
  VkPhysicalDeviceMemoryProperties2 memory{};
  memory.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MEMORY_PROPERTIES_2;
  memory.pNext = &budget;
  (*driver_)->getPhysicalDeviceMemoryProperties2(
      driver_->devices()[static_cast<std::size_t>(about_.info.ordinal)], &memory);
  const std::uint64_t most = std::min<std::uint64_t>(all, budget.heapBudget[about_.heap]);
  return most - std::min<std::uint64_t>(most, budget.heapUsage[about_.heap]);
}

Result<std::unique_ptr<DeviceQueue>> VulkanDevice::makeQueue(const DeviceReach& reach) const {
  return VulkanQueue::make(std::static_pointer_cast<const VulkanDevice>(shared_from_this()), reach);
}

Result<std::unique_ptr<DeviceMemory>> VulkanDevice::allocate(std::uint64_t bytes, const char* what) const {
  return VulkanMemory::make(std::static_pointer_cast<const VulkanDevice>(shared_from_this()), bytes, what);
}

Result<std::unique_ptr<PinnedMemory>> VulkanDevice::allocatePinned(std::uint64_t bytes,
                                                                   const char* what) const {
  return VulkanPinned::make(std::static_pointer_cast<const VulkanDevice>(shared_from_this()), bytes, what);
}

Result<VulkanBuffer> VulkanDevice::allocate(std::uint64_t bytes, Place place, const char* what) const {
  const std::string text = "allocating " + std::to_string(bytes) + " bytes for " + what + ", " + this->text();
  // Filling is by words, and an address may lie anywhere in the first kDeviceAlignment bytes.
  const std::uint64_t whole = deviceAligned(std::max<std::uint64_t>(bytes, 1)) + kDeviceAlignment;
  if (bytes > kMaxDeviceBytes || whole > about_.limits.allocationBytes) {
    return fail(Code::kResourceExhausted, text + ": the driver makes no allocation beyond " +
                                              std::to_string(about_.limits.allocationBytes) + " bytes");
  }
  VulkanBuffer out;
  out.bytes = whole;
  if (const Status filled = fill(out, place, text); !filled) {
    if (out.buffer != VK_NULL_HANDLE) table_.destroyBuffer(device_, out.buffer, nullptr);
    if (out.memory != VK_NULL_HANDLE) table_.freeMemory(device_, out.memory, nullptr);
    return fail(filled.error());
  }
  const MutexLock lock(buffers_);
  allocated_ += whole;
  byAddress_[out.address] = out;
  if (out.data != nullptr) byData_[reinterpret_cast<std::uint64_t>(out.data)] = out;
  return out;
}

Status VulkanDevice::fill(VulkanBuffer& out, Place place, const std::string& what) const {
  VkBufferCreateInfo info{};
  info.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO;
  info.size = out.bytes;
  info.usage = VK_BUFFER_USAGE_TRANSFER_SRC_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT |
               VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT;
  info.sharingMode = VK_SHARING_MODE_EXCLUSIVE;
  KILN_TRY(check(table_.createBuffer(device_, &info, nullptr, &out.buffer), what));
  VkMemoryRequirements needs{};
  table_.getBufferMemoryRequirements(device_, out.buffer, &needs);
  const auto type = place == Place::kHost ? hostMemoryType(about_.memory, needs.memoryTypeBits)
                                          : deviceMemoryType(about_.memory, needs.memoryTypeBits);
  if (!type || needs.size < out.bytes)
    return fail(Code::kInternal, what + ": the driver asks for memory that it does not have");
  VkMemoryAllocateFlagsInfo flags{};
  flags.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_FLAGS_INFO;
  flags.flags = VK_MEMORY_ALLOCATE_DEVICE_ADDRESS_BIT;
  VkMemoryAllocateInfo allocation{};
  allocation.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO;
  allocation.pNext = &flags;
  allocation.allocationSize = needs.size;
  allocation.memoryTypeIndex = *type;
  KILN_TRY(check(table_.allocateMemory(device_, &allocation, nullptr, &out.memory), what));
  KILN_TRY(check(table_.bindBufferMemory(device_, out.buffer, out.memory, 0), what));
  VkBufferDeviceAddressInfo at{};
  at.sType = VK_STRUCTURE_TYPE_BUFFER_DEVICE_ADDRESS_INFO;
  at.buffer = out.buffer;
  out.address = table_.getBufferDeviceAddress(device_, &at);
  if (out.address == 0 || out.address > UINT64_MAX - out.bytes || out.address % 16 != 0)
    return fail(Code::kInternal, what + ": the driver says that it lies at an address that cannot be");
  if (place == Place::kDevice) return {};
  void* data = nullptr;
  KILN_TRY(check(table_.mapMemory(device_, out.memory, 0, VK_WHOLE_SIZE, 0, &data), what));
  if (data == nullptr || reinterpret_cast<std::uintptr_t>(data) % KILN_ALIGNMENT != 0)
    return fail(Code::kInternal, what + ": the driver maps it where it cannot be");
  out.data = static_cast<std::byte*>(data);
  return {};
}

void VulkanDevice::free(const VulkanBuffer& buffer) const {
  {
    const MutexLock lock(buffers_);
    allocated_ -= buffer.bytes;
    byAddress_.erase(buffer.address);
    if (buffer.data != nullptr) byData_.erase(reinterpret_cast<std::uint64_t>(buffer.data));
    if (abandoned_) return;
  }
  table_.destroyBuffer(device_, buffer.buffer, nullptr);
  table_.freeMemory(device_, buffer.memory, nullptr);
}

std::optional<VulkanDevice::Part> VulkanDevice::onDevice(std::uint64_t address, std::uint64_t bytes) const {
  const MutexLock lock(buffers_);
  return partOf(byAddress_, address, bytes);
}

std::optional<VulkanDevice::Part> VulkanDevice::pinned(const void* data, std::uint64_t bytes) const {
  const MutexLock lock(buffers_);
  return partOf(byData_, reinterpret_cast<std::uint64_t>(data), bytes);
}

}  // namespace kiln::runtime
