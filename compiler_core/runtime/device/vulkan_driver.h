// Vulkan in this process: its loader, an instance, and the physical devices of the drivers that it found.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "compiler_core/runtime/device/vulkan_api.h"
#include "manifest/base/result.h"

namespace kiln::runtime {

inline constexpr char kVulkanLoaderLibrary[] = "libvulkan.so.1";

// Immutable, thread safe. The loader stays in the process once opened; the instance goes with the object.
class VulkanDriver {
 public:
  // Loads the loader (a path, or a name that the system's loader finds) and makes an instance of Vulkan 1.3.
  // Which drivers and layers there are is the loader's business and its environment's. kUnimplemented, saying
  // what was found, where there is no loader, no driver, or a loader too old; kInvalidArgument for "".
  static Result<std::shared_ptr<const VulkanDriver>> open(const std::string& library);
  ~VulkanDriver();
  VulkanDriver(const VulkanDriver&) = delete;
  VulkanDriver& operator=(const VulkanDriver&) = delete;

  const vulkan::InstanceTable& operator*() const { return table_; }
  const vulkan::InstanceTable* operator->() const { return &table_; }
  const std::string& library() const { return library_; }
  // In the loader's order: what device ordinals count. At least one, at most 64.
  const std::vector<VkPhysicalDevice>& devices() const { return devices_; }

  // The instance stays with the process: a device of it is at work and cannot be ended.
  void keep() const { kept_.store(true); }

  // success, or the class that `code` falls into, with the code's name after `what`.
  static Status check(VkResult code, const std::string& what);
  // After this, nothing works on the logical device any more.
  static bool isSticky(VkResult code) { return code == VK_ERROR_DEVICE_LOST; }

 private:
  VulkanDriver() = default;
  Status load();
  Status makeInstance();
  Status findDevices();

  std::string library_;
  vulkan::GlobalTable global_;
  vulkan::InstanceTable table_;
  VkInstance instance_ = nullptr;
  mutable std::atomic<bool> kept_{false};
  std::vector<VkPhysicalDevice> devices_;
};

}  // namespace kiln::runtime
