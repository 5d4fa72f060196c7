// Work on a Vulkan device: commands are recorded, handed over as one submission and waited for through a
// timeline. Private to this folder.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "compiler_core/runtime/device/vulkan_device.h"

namespace kiln::runtime {

// A command buffer, and the argument blocks that its launches read.
class VulkanCommands {
 public:
  static Result<std::unique_ptr<VulkanCommands>> make(std::shared_ptr<const VulkanDevice> device);
  // Nothing of it runs.
  ~VulkanCommands();
  VulkanCommands(const VulkanCommands&) = delete;
  VulkanCommands& operator=(const VulkanCommands&) = delete;

  // Begins anew; what was recorded is forgotten.
  Status begin(bool once);
  Status end();
  bool empty() const { return empty_; }
  // For one more command: what came before is done, and seen, when it starts.
  VkCommandBuffer next();
  // For one that needs to wait for nothing.
  VkCommandBuffer commands() const { return commands_; }
  // A copy of these words for a kernel: its address. Behind it lies what this object holds, for as many words
  // as a kernel may read there.
  Result<std::uint64_t> keep(const std::uint64_t* words, std::size_t count);

 private:
  explicit VulkanCommands(std::shared_ptr<const VulkanDevice> device) : device_(std::move(device)) {}
  const std::shared_ptr<const VulkanDevice> device_;
  VkCommandPool pool_ = VK_NULL_HANDLE;
  VkCommandBuffer commands_ = VK_NULL_HANDLE;
  bool empty_ = true;
  std::vector<VulkanBuffer> blocks_;
  std::size_t block_ = 0;   // that is being filled
  std::uint64_t used_ = 0;  // of it
};

class VulkanQueue final : public DeviceQueue {
 public:
  static Result<std::unique_ptr<VulkanQueue>> make(std::shared_ptr<const VulkanDevice> device,
                                                   const DeviceReach& reach);
  ~VulkanQueue() override;

  Status upload(std::uint64_t to, const void* from, std::uint64_t bytes) override;
  Status download(void* to, std::uint64_t from, std::uint64_t bytes) override;
  // Blocks beyond what the device serves at once are launched in pieces, one after the other.
  Status launch(const KernelModule& module, const kiln_launch& launch) override;
  Status wait() override;
  Status mark(std::size_t number) override;
  Result<double> nanosecondsBetween(std::size_t first, std::size_t second) override;
  Status beginRecording() override;
  std::unique_ptr<DeviceRecording> endRecording(bool wanted) override;
  Status replay(const DeviceRecording& recording) override;

  // All of a buffer becomes this word.
  Status fill(const VulkanBuffer& buffer, std::uint32_t word);

 private:
  // What is copied out of staging_ when the device is done.
  struct Download {
    void* to;
    std::uint64_t offset, bytes;
  };
  enum class Direction { kUp, kDown };

  VulkanQueue(std::shared_ptr<const VulkanDevice> device, const DeviceReach& reach)
      : device_(std::move(device)), reach_(reach) {}
  const vulkan::DeviceTable& api() const { return device_->api(); }
  // Commands that more can be added to.
  Result<VulkanCommands*> open();
  Status stage(Direction direction, std::uint64_t device, std::byte* host, std::uint64_t bytes);
  // Hands over and waits.
  Status run(const VulkanCommands& commands);

  const std::shared_ptr<const VulkanDevice> device_;
  const DeviceReach reach_;
  VkSemaphore timeline_ = VK_NULL_HANDLE;
  std::uint64_t time_ = 0;
  std::unique_ptr<VulkanCommands> commands_;
  bool isOpen_ = false, recording_ = false;
  const VulkanCommands* replayed_ = nullptr;  // to be handed over by wait()
  VulkanBuffer staging_;                      // of memory that is not pinned
  std::uint64_t staged_ = 0;
  std::vector<Download> downloads_;
  std::vector<VkQueryPool> marks_;  // kMarks of them each
};

}  // namespace kiln::runtime
