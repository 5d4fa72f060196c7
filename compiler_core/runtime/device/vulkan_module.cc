#include "compiler_core/runtime/device/vulkan_module.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <utility>

#include "compiler_core/runtime/spirv/spirv_bounds.h"
#include "compiler_core/runtime/spirv/spirv_check.h"

namespace kiln::runtime {
namespace {

// The feature that a capability of SPIR-V rests on (Vulkan specification 1.3, appendix "Vulkan Environment
// for SPIR-V"), and whether the device has it. Capabilities without one are every 1.3 device's.
struct Feature {
  std::uint32_t capability;
  const char* name;
  bool (*has)(const VulkanFeatures&);
};
constexpr Feature kFeatures[] = {
    {9, "shaderFloat16", [](const VulkanFeatures& f) { return f.v12.shaderFloat16 != 0; }},
    {10, "shaderFloat64", [](const VulkanFeatures& f) { return f.core.features.shaderFloat64 != 0; }},
    {11, "shaderInt64", [](const VulkanFeatures& f) { return f.core.features.shaderInt64 != 0; }},
    {12, "shaderBufferInt64Atomics",
     [](const VulkanFeatures& f) { return f.v12.shaderBufferInt64Atomics != 0; }},
    {22, "shaderInt16", [](const VulkanFeatures& f) { return f.core.features.shaderInt16 != 0; }},
    {39, "shaderInt8", [](const VulkanFeatures& f) { return f.v12.shaderInt8 != 0; }},
    {4433, "storageBuffer16BitAccess",
     [](const VulkanFeatures& f) { return f.v11.storageBuffer16BitAccess != 0; }},
    {4434, "uniformAndStorageBuffer16BitAccess",
     [](const VulkanFeatures& f) { return f.v11.uniformAndStorageBuffer16BitAccess != 0; }},
    {4435, "storagePushConstant16", [](const VulkanFeatures& f) { return f.v11.storagePushConstant16 != 0; }},
    {4448, "storageBuffer8BitAccess",
     [](const VulkanFeatures& f) { return f.v12.storageBuffer8BitAccess != 0; }},
    {4449, "uniformAndStorageBuffer8BitAccess",
     [](const VulkanFeatures& f) { return f.v12.uniformAndStorageBuffer8BitAccess != 0; }},
    {4450, "storagePushConstant8", [](const VulkanFeatures& f) { return f.v12.storagePushConstant8 != 0; }},
    {5345, "vulkanMemoryModel", [](const VulkanFeatures& f) { return f.v12.vulkanMemoryModel != 0; }},
    {5346, "vulkanMemoryModelDeviceScope",
     [](const VulkanFeatures& f) { return f.v12.vulkanMemoryModelDeviceScope != 0; }},
    {5347, "bufferDeviceAddress", [](const VulkanFeatures& f) { return f.v12.bufferDeviceAddress != 0; }},
    {6016, "shaderIntegerDotProduct",
     [](const VulkanFeatures& f) { return f.v13.shaderIntegerDotProduct != 0; }},
    {6017, "shaderIntegerDotProduct",
     [](const VulkanFeatures& f) { return f.v13.shaderIntegerDotProduct != 0; }},
    {6018, "shaderIntegerDotProduct",
     [](const VulkanFeatures& f) { return f.v13.shaderIntegerDotProduct != 0; }},
    {6019, "shaderIntegerDotProduct",
     [](const VulkanFeatures& f) { return f.v13.shaderIntegerDotProduct != 0; }},
};

Status checkFeatures(const VulkanDevice& device, const DeviceImageInfo& image, const spirv::Module& module) {
  for (const std::uint32_t capability : module.capabilities) {
    const auto feature = std::ranges::find(kFeatures, capability, &Feature::capability);
    if (feature == std::end(kFeatures) || feature->has(device.about().features)) continue;
    return fail(Code::kUnimplemented, "the kernels for " + image.target + " need " + feature->name + " (" +
                                          std::string(spirv::capabilityName(capability)) + "), which " +
                                          device.text() +
                                          ", does not have; choose another device, or build without it");
  }
  return {};
}

Status checkKernel(const VulkanDevice& device, const spirv::Kernel& kernel, const std::string& path) {
  const VulkanLimits& most = device.about().limits;
  const std::uint64_t threads = std::uint64_t{kernel.local[0]} * kernel.local[1] * kernel.local[2];
  if (kernel.local[1] != 1 || kernel.local[2] != 1)
    return fail(Code::kDataLoss, path + ": kernel \"" + kernel.name + "\" has blocks of more than a row");
  if (threads > most.threadsMost || kernel.local[0] > most.blockMost[0]) {
    return fail(Code::kUnimplemented, path + ": kernel \"" + kernel.name + "\" has blocks of " +
                                          std::to_string(threads) + " threads, " + device.text() +
                                          ", serves " + std::to_string(most.threadsMost));
  }
  if (kernel.workgroupBytes > most.sharedBytes) {
    return fail(Code::kUnimplemented, path + ": blocks of kernel \"" + kernel.name + "\" share " +
                                          std::to_string(kernel.workgroupBytes) + " bytes, " + device.text() +
                                          ", serves " + std::to_string(most.sharedBytes));
  }
  return {};
}

// What the bytes say, in accord with the manifest and the device.
using Kernels = std::map<std::string, spirv::Kernel>;  // by name
Result<Kernels> readModule(const VulkanDevice& device, const DeviceImageInfo& image,
                           const std::string& bytes) {
  const std::string& path = image.image.path;
  auto module = spirv::check(bytes);
  if (!module) return fail(module.error().in(path));
  const std::string version = "1." + std::to_string(module->minor);
  if (version != image.computeCapability)
    return fail(Code::kDataLoss,
                path + ": a module of SPIR-V " + version + ", the manifest says " + image.computeCapability);
  KILN_TRY(checkFeatures(device, image, *module));
  Kernels kernels;
  for (const spirv::Kernel& kernel : module->kernels) kernels.emplace(kernel.name, kernel);
  for (const std::string& name : image.kernels) {
    const auto found = kernels.find(name);
    if (found == kernels.end())
      return fail(Code::kDataLoss, path + ": there is no kernel \"" + name + "\" in it");
    KILN_TRY(checkKernel(device, found->second, path));
  }
  return kernels;
}

}  // namespace

Status checkModule(const VulkanDevice& device, const DeviceImageInfo& image, const std::string& bytes) {
  // 1.3 of the manifest's driver: what the device serves, by number.
  const DeviceInfo& info = device.info();
  const std::size_t dot = image.driver.find('.');
  const int major = std::stoi(image.driver.substr(0, dot)), minor = std::stoi(image.driver.substr(dot + 1));
  if (std::pair(info.major, info.minor) < std::pair(major, minor)) {
    return fail(Code::kUnimplemented, device.text() + ", serves Vulkan " + info.computeCapability() +
                                          ", the kernels for " + image.target + " need " + image.driver +
                                          " or later; update its driver, or choose another device");
  }
  KILN_TRY(readModule(device, image, bytes));
  return {};
}

Result<std::unique_ptr<KernelModule>> VulkanModule::load(std::shared_ptr<const VulkanDevice> device,
                                                         const DeviceImageInfo& image,
                                                         const std::string& bytes, const std::string& cache) {
  std::unique_ptr<VulkanModule> module(new VulkanModule(std::move(device)));
  KILN_TRY(module->make(image, bytes, cache));
  return module;
}

Status VulkanModule::make(const DeviceImageInfo& image, const std::string& bytes, const std::string& cache) {
  KILN_ASSIGN(const Kernels read, readModule(*device_, image, bytes));
  const auto bounded = spirv::bound(bytes);
  if (!bounded) return fail(bounded.error().in(image.image.path));
  const vulkan::DeviceTable& api = device_->api();
  const std::string what = "loading " + image.image.path;
  std::vector<std::uint32_t> words(bounded->size() / sizeof(std::uint32_t));
  std::memcpy(words.data(), bounded->data(), bounded->size());
  VkShaderModuleCreateInfo code{};
  code.sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO;
  code.codeSize = bounded->size();
  code.pCode = words.data();
  KILN_TRY(device_->check(api.createShaderModule(device_->handle(), &code, nullptr, &shader_), what));
  VkPushConstantRange push{VK_SHADER_STAGE_COMPUTE_BIT, 0, sizeof(spirv::BoundedPush)};
  VkPipelineLayoutCreateInfo layout{};
  layout.sType = VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO;
  layout.pushConstantRangeCount = 1;
  layout.pPushConstantRanges = &push;
  KILN_TRY(device_->check(api.createPipelineLayout(device_->handle(), &layout, nullptr, &layout_), what));
  if (cache.empty()) return makePipelines(image, read);
  const VulkanCacheFile file(cache, device_->about().cacheKey, *bounded);
  KILN_TRY(openCache(file));
  KILN_TRY(makePipelines(image, read));
  return keepCache(file);
}

Status VulkanModule::makePipelines(const DeviceImageInfo& image, const Kernels& read) {
  for (const std::string& name : image.kernels) {
    VkComputePipelineCreateInfo info{};
    info.sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO;
    info.stage.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO;
    info.stage.stage = VK_SHADER_STAGE_COMPUTE_BIT;
    info.stage.module = shader_;
    info.stage.pName = name.c_str();
    info.layout = layout_;
    Kernel kernel;
    kernel.name = name;
    kernel.threads = read.at(name).local[0];
    KILN_TRY(device_->check(device_->api().createComputePipelines(device_->handle(), pipelines_, 1, &info,
                                                                  nullptr, &kernel.pipeline),
                            "loading " + image.image.path + ": kernel \"" + name + "\""));
    kernels_.push_back(std::move(kernel));
  }
  return {};
}

Status VulkanModule::openCache(const VulkanCacheFile& file) {
  const auto kept = file.read();
  if (kept) cacheText_ = "used";
  if (!kept && kept.error().code != Code::kNotFound) cacheText_ = "refused: " + kept.error().message + ", ";
  VkPipelineCacheCreateInfo info{};
  info.sType = VK_STRUCTURE_TYPE_PIPELINE_CACHE_CREATE_INFO;
  info.initialDataSize = kept ? kept->size() : 0;
  info.pInitialData = kept ? kept->data() : nullptr;
  return device_->check(device_->api().createPipelineCache(device_->handle(), &info, nullptr, &pipelines_),
                        "making a pipeline cache");
}

// What cannot be kept is no reason not to run.
Status VulkanModule::keepCache(const VulkanCacheFile& file) {
  if (cacheText_ == "used") return {};
  const vulkan::DeviceTable& api = device_->api();
  const std::string what = "reading the pipeline cache";
  std::size_t bytes = 0;
  KILN_TRY(device_->check(api.getPipelineCacheData(device_->handle(), pipelines_, &bytes, nullptr), what));
  if (bytes <= kCacheHeaderBytes || bytes > kMaxCacheBytes) {
    cacheText_ += "the driver keeps nothing";
    return {};
  }
  std::string data(bytes, '\0');
  const VkResult read = api.getPipelineCacheData(device_->handle(), pipelines_, &bytes, data.data());
  if (read != VK_INCOMPLETE) KILN_TRY(device_->check(read, what));
  data.resize(std::min(bytes, data.size()));
  const Status written = file.write(data);
  cacheText_ +=
      written ? "kept " + std::to_string(data.size()) + " bytes" : "not kept: " + written.error().message;
  return {};
}

VulkanModule::~VulkanModule() {
  if (device_->abandoned()) return;
  const vulkan::DeviceTable& api = device_->api();
  for (const Kernel& kernel : kernels_) api.destroyPipeline(device_->handle(), kernel.pipeline, nullptr);
  if (pipelines_ != VK_NULL_HANDLE) api.destroyPipelineCache(device_->handle(), pipelines_, nullptr);
  if (layout_ != VK_NULL_HANDLE) api.destroyPipelineLayout(device_->handle(), layout_, nullptr);
  if (shader_ != VK_NULL_HANDLE) api.destroyShaderModule(device_->handle(), shader_, nullptr);
}

}  // namespace kiln::runtime
