#include "compiler_core/tuner/kernel_image.h"

#include <filesystem>

#include "compiler_core/codegen/cuda/codegen.h"
#include "compiler_core/codegen/vulkan/codegen.h"
#include "compiler_core/package/files.h"
#include "manifest/base/digest.h"
#include "manifest/spec/target_device.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"

namespace kiln::tuner {

Status checkAssembler(const Target& target, const Tools& tools) {
  if (isVulkan(target.name)) return {};  // the compiler writes SPIR-V by itself
  std::error_code error;
  const std::string ptxas = codegen::ptxasOf(tools.toolchainLib);
  if (std::filesystem::exists(ptxas, error)) return {};
  return fail(Code::kUnimplemented,
              "kernels of " + target.name + " keep their default, this toolchain has no " + ptxas);
}

void KernelImage::addTo(codegen::PipelineOptions& options) {
  options.deviceKernels = &kernels_;
  options.onDeviceModule = [this](mlir::Operation& device) {
    module_ = mlir::ModuleOp::create(device.getLoc());
    module_->push_back(device.clone());
  };
}

Status KernelImage::generate(const Target& target, bool contraction, const Tools& tools,
                             KernelProgram& program) const {
  if (!module_) return fail(Code::kInternal, "the kernel has no code for " + target.name);
  program.imageKernels = kernels_.names;
  return isVulkan(target.name) ? generateModule(tools, program)
                               : generateCubin(target, contraction, tools, program);
}

Status KernelImage::generateModule(const Tools& tools, KernelProgram& program) const {
  if (!tools.emulation.empty())
    return fail(Code::kUnimplemented,
                "kernels for Vulkan have no emulation: a driver on the processor runs them");
  KILN_ASSIGN(codegen::SpirvImage image,
              codegen::generateSpirv(*module_, {.bitcode = {tools.toolchainLib + "/kmath.bc"}}));
  program.image = std::move(image.words);
  program.imageVersion = codegen::kSpirvVersion;
  return {};
}

Status KernelImage::generateCubin(const Target& target, bool contraction, const Tools& tools,
                                  KernelProgram& program) const {
  codegen::CudaOptions options;
  options.arch = target.device;
  options.contraction = contraction;
  options.bitcode = {tools.toolchainLib + "/kmath.bc"};
  options.ptxas = codegen::ptxasOf(tools.toolchainLib);
  options.toolchainLib = tools.toolchainLib;
  options.workDirectory = tools.workDirectory;
  if (!tools.emulation.empty()) {
    codegen::CpuOptions& host = options.emulation.emplace();
    host.target = target;
    host.contraction = contraction;
    host.bitcode = options.bitcode;
    host.builtinsArchive = tools.toolchainLib + "/libkiln_builtins-x86_64.a";
    host.workDirectory = tools.workDirectory;
  }
  KILN_ASSIGN(codegen::DeviceImage image, codegen::generateDeviceImage(*module_, options));
  if (!tools.emulation.empty()) {
    const std::string path = tools.emulation + "/" + digestOf(image.cubin).hex() + ".so";
    // What is there is the same, and may be running.
    if (std::error_code error; !std::filesystem::exists(path, error))
      KILN_TRY(package::writeFile(path, asBytes(image.emulation)));
  }
  program.image = std::move(image.cubin);
  return {};
}

}  // namespace kiln::tuner
