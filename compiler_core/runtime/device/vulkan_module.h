// Kernels of a SPIR-V module on a Vulkan device: checked, then made into pipelines. Private to this folder.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "compiler_core/runtime/device/vulkan_device.h"
#include "compiler_core/runtime/spirv/spirv_check.h"

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
                                                    const DeviceImageInfo& image, const std::string& bytes,
                                                    const std::string& cache);
  ~VulkanModule() override;
  std::string cache() const override { return cacheText_; }

  struct Kernel {
    std::string name;
    VkPipeline pipeline = VK_NULL_HANDLE;
    std::uint32_t threads = 0;  // of a block
  };
  const Kernel& kernel(std::size_t index) const { return kernels_[index]; }
  VkPipelineLayout layout() const { return layout_; }

 private:
  using Kernels = std::map<std::string, spirv::Kernel>;  // by name, as the module says

  explicit VulkanModule(std::shared_ptr<const VulkanDevice> device) : device_(std::move(device)) {}
  Status make(const DeviceImageInfo& image, const std::string& bytes, const std::string& cache);
  Status makePipelines(const DeviceImageInfo& image, const Kernels& read);
  // What there is of the module, and afterwards what the driver made of it.
  Status openCache(const VulkanCacheFile& file);
  Status keepCache(const VulkanCacheFile& file);

  const std::shared_ptr<const VulkanDevice> device_;
  VkShaderModule shader_ = VK_NULL_HANDLE;
  VkPipelineLayout layout_ = VK_NULL_HANDLE;
  VkPipelineCache pipelines_ = VK_NULL_HANDLE;
  std::vector<Kernel> kernels_;
  std::string cacheText_;
};

}  // namespace kiln::runtime
