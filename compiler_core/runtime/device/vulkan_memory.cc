#include "compiler_core/runtime/device/vulkan_memory.h"

#include <cstring>

#include "compiler_core/runtime/device/device_layout.h"
#include "compiler_core/runtime/device/vulkan_queue.h"

namespace kiln::runtime {
namespace {

// What fresh memory holds: NaN in every floating-point type, so that reading it uninitialised shows.
constexpr std::uint32_t kFresh = 0xFFFFFFFF;

}  // namespace

Result<std::unique_ptr<DeviceMemory>> VulkanMemory::make(std::shared_ptr<const VulkanDevice> device,
                                                         std::uint64_t bytes, const char* what) {
  std::unique_ptr<VulkanMemory> memory(new VulkanMemory(std::move(device)));
  KILN_ASSIGN(memory->buffer_, memory->device_->allocate(bytes, VulkanDevice::Place::kDevice, what));
  memory->address_ = deviceAligned(memory->buffer_.address);
  memory->bytes_ = bytes;
  KILN_TRY(memory->overwrite(kFresh));
  return memory;
}

Status VulkanMemory::overwrite(std::uint32_t word) const {
  KILN_ASSIGN(const auto queue, VulkanQueue::make(device_, {}));
  KILN_TRY(queue->fill(buffer_, word));
  return queue->wait();
}

// Errors end here: on a device that failed, memory goes with the process.
VulkanMemory::~VulkanMemory() {
  if (buffer_.buffer == VK_NULL_HANDLE) return;
  if (!device_->lost()) (void)overwrite(0);
  device_->free(buffer_);
}

Result<std::unique_ptr<PinnedMemory>> VulkanPinned::make(std::shared_ptr<const VulkanDevice> device,
                                                         std::uint64_t bytes, const char* what) {
  KILN_ASSIGN(const VulkanBuffer buffer, device->allocate(bytes, VulkanDevice::Place::kHost, what));
  return std::unique_ptr<PinnedMemory>(new VulkanPinned(std::move(device), buffer, bytes));
}

VulkanPinned::~VulkanPinned() {
  // What the device may still be writing is not touched.
  if (!device_->abandoned()) std::memset(buffer_.data, 0, buffer_.bytes);
  device_->free(buffer_);
}

}  // namespace kiln::runtime
