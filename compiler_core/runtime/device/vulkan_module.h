// Kernels of a SPIR-V module on a Vulkan device: checked, then made into pipelines. Private to this folder.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "compiler_core/runtime/device/vulkan_device.h"

namespace kiln::runtime {

// Everything that can be known before a driver gets the bytes: that they are a module of kernels
// (spirv/spirv_check.h), of the version and the kernels that the manifest states, within the device's limits,
// and that the device has what the module asks for. kDataLoss; kUnimplemented naming both sides.
Status checkModule(const VulkanDevice& device, const DeviceImageInfo& image, const std::string& bytes);

class VulkanModule final : public KernelModule {
 public:
  // Checks, bounds every access (spirv/spirv_bounds.h), then makes one pipeline per kernel of the manifest:
  // the driver compiles here and nowhere else.
  static Result<std::unique_ptr<KernelModule>> load(std::shared_ptr<const VulkanDevice> device,
                                                    const DeviceImageInfo& image, const std::string& bytes);
  ~VulkanModule() override;

  struct Kernel {
    std::string name;
    VkPipeline pipeline = VK_NULL_HANDLE;
    std::uint32_t threads = 0;  // of a block
  };
  const Kernel& kernel(std::size_t index) const { return kernels_[index]; }
  VkPipelineLayout layout() const { return layout_; }

 private:
  explicit VulkanModule(std::shared_ptr<const VulkanDevice> device) : device_(std::move(device)) {}
  Status make(const DeviceImageInfo& image, const std::string& bytes);

  const std::shared_ptr<const VulkanDevice> device_;
  VkShaderModule shader_ = VK_NULL_HANDLE;
  VkPipelineLayout layout_ = VK_NULL_HANDLE;
  std::vector<Kernel> kernels_;
};

}  // namespace kiln::runtime
