// A device behind Vulkan: a logical device with one queue, and memory that is reached by address.
#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <string>

#include "compiler_core/runtime/device/compute_device.h"
#include "compiler_core/runtime/device/vulkan_info.h"

namespace kiln::runtime {

// A buffer and the memory behind it. What `device` allocates and frees.
struct VulkanBuffer {
  VkBuffer buffer = VK_NULL_HANDLE;
  VkDeviceMemory memory = VK_NULL_HANDLE;
  std::uint64_t bytes = 0;    // of the buffer
  std::uint64_t address = 0;  // as kernels see it
  std::byte* data = nullptr;  // of host memory
};

class VulkanDevice final : public ComputeDevice {
 public:
  // How long work may take before the device counts as hung. A driver that never answers would hold its
  // worker for ever, and no call of Vulkan ends what runs.
  static constexpr std::chrono::seconds kWaitLimit{600};

  // Errors of VulkanDriver::open and describeVulkanDevice.
  static Result<std::shared_ptr<const VulkanDevice>> open(const std::string& library, int ordinal,
                                                          std::chrono::nanoseconds waitLimit = kWaitLimit);
  ~VulkanDevice() override;

  Status check(const DeviceImageInfo& image, const std::string& bytes) const override;
  Result<std::unique_ptr<KernelModule>> load(const DeviceImageInfo& image, const std::string& bytes,
                                             const std::string& cache) const override;
  // As the driver tells where it can, else the memory less what this object has allocated.
  Result<std::uint64_t> freeBytes() const override;
  Result<std::unique_ptr<DeviceQueue>> makeQueue(const DeviceReach& reach) const override;
  Result<std::unique_ptr<DeviceMemory>> allocate(std::uint64_t bytes, const char* what) const override;
  Result<std::unique_ptr<PinnedMemory>> allocatePinned(std::uint64_t bytes, const char* what) const override;

  // For this folder's parts of it.
  const vulkan::DeviceTable& api() const { return table_; }
  VkDevice handle() const { return device_; }
  const VulkanDescription& about() const { return about_; }
  std::chrono::nanoseconds waitLimit() const { return waitLimit_; }
  // As VulkanDriver::check; what ends the device for the process is kept.
  Status check(VkResult code, const std::string& what) const;
  // Work was handed over and nobody knows when it ends: nothing that it may use is given back any more.
  bool abandoned() const;
  void abandon() const;
  Status submit(const VkSubmitInfo& info, const std::string& what) const;

  enum class Place { kDevice, kHost };
  Result<VulkanBuffer> allocate(std::uint64_t bytes, Place place, const char* what) const;
  void free(const VulkanBuffer& buffer) const;

  // The buffer that holds these bytes, and where in it; nothing for others.
  struct Part {
    VkBuffer buffer;
    std::uint64_t offset;
  };
  std::optional<Part> onDevice(std::uint64_t address, std::uint64_t bytes) const;
  std::optional<Part> pinned(const void* data, std::uint64_t bytes) const;

 private:
  VulkanDevice(std::shared_ptr<const VulkanDriver> driver, VulkanDescription about,
               std::chrono::nanoseconds waitLimit)
      : ComputeDevice(about.info),
        driver_(std::move(driver)),
        about_(std::move(about)),
        waitLimit_(waitLimit) {}
  Status makeDevice();
  Status fill(VulkanBuffer& out, Place place, const std::string& what) const;

  const std::shared_ptr<const VulkanDriver> driver_;
  const VulkanDescription about_;
  const std::chrono::nanoseconds waitLimit_;
  vulkan::DeviceTable table_;
  VkDevice device_ = VK_NULL_HANDLE;
  VkQueue queue_ = VK_NULL_HANDLE;
  mutable Mutex submitting_;  // the queue is one thread's at a time
  mutable Mutex buffers_;
  mutable bool abandoned_ KILN_GUARDED_BY(buffers_) = false;
  mutable std::uint64_t allocated_ KILN_GUARDED_BY(buffers_) = 0;
  mutable std::map<std::uint64_t, VulkanBuffer> byAddress_ KILN_GUARDED_BY(buffers_);
  mutable std::map<std::uint64_t, VulkanBuffer> byData_ KILN_GUARDED_BY(buffers_);
};

}  // namespace kiln::runtime
