#include "compiler_core/codegen/vulkan/codegen.h"

#include <fmt/format.h>

#include "compiler_core/codegen/vulkan/internal.h"
#include "llvm/IR/LLVMContext.h"
#include "mlir/IR/BuiltinOps.h"

namespace kiln::codegen {

void restrictToVulkan(schedule::DeviceOptions& options) {
  options.contraction = options.tf32 = options.tensorCores = false;
  options.sharedBytes = kVulkanSharedBytes;
}

Result<SpirvImage> generateSpirv(mlir::ModuleOp module, const VulkanOptions& options) {
  KILN_ASSIGN(const std::vector<MappedKernel> kernels, mappedKernels(module));
  for (const MappedKernel& kernel : kernels)
    if (kernel.sharedBytes > kVulkanSharedBytes)
      return fail(Code::kUnimplemented,
                  fmt::format("kernel {} needs {} bytes of shared memory, and devices of Vulkan {} have {}",
                              kernel.name, kernel.sharedBytes, kVulkanVersion, kVulkanSharedBytes));
  llvm::LLVMContext context;
  KILN_ASSIGN(auto ir, prepareSpirv(module, kernels, options, context));
  return emitSpirv(*ir, kernels);
}

}  // namespace kiln::codegen
