// Memory of a Vulkan device and memory that it shares with the processor. Private to this folder.
#pragma once

#include <memory>

#include "compiler_core/runtime/device/vulkan_device.h"

namespace kiln::runtime {

class VulkanMemory final : public DeviceMemory {
 public:
  static Result<std::unique_ptr<DeviceMemory>> make(std::shared_ptr<const VulkanDevice> device,
                                                    std::uint64_t bytes, const char* what);
  ~VulkanMemory() override;
  std::uint64_t address() const override { return address_; }
  std::uint64_t bytes() const override { return bytes_; }

 private:
  explicit VulkanMemory(std::shared_ptr<const VulkanDevice> device) : device_(std::move(device)) {}
  // All of it becomes the byte, four times over.
  Status overwrite(std::uint32_t word) const;

  const std::shared_ptr<const VulkanDevice> device_;
  VulkanBuffer buffer_;
  std::uint64_t address_ = 0, bytes_ = 0;
};

class VulkanPinned final : public PinnedMemory {
 public:
  static Result<std::unique_ptr<PinnedMemory>> make(std::shared_ptr<const VulkanDevice> device,
                                                    std::uint64_t bytes, const char* what);
  ~VulkanPinned() override;
  std::byte* data() const override { return buffer_.data; }
  std::uint64_t bytes() const override { return bytes_; }
  // For kernels that read it where it lies.
  std::uint64_t address() const { return buffer_.address; }

 private:
  VulkanPinned(std::shared_ptr<const VulkanDevice> device, VulkanBuffer buffer, std::uint64_t bytes)
      : device_(std::move(device)), buffer_(buffer), bytes_(bytes) {}
  const std::shared_ptr<const VulkanDevice> device_;
  const VulkanBuffer buffer_;
  const std::uint64_t bytes_;
};

}  // namespace kiln::runtime
