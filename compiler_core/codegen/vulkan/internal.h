// The steps of generateSpirv. Private to this folder.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "compiler_core/codegen/cuda/passes.h"
#include "compiler_core/codegen/vulkan/codegen.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/IR/Module.h"

namespace kiln::codegen {

// Kernels as functions of the LLVM dialect to LLVM IR that emitSpirv takes: with the functions that they
// call, no operation that devices round as they like, no vectors, and control flow that structure() takes.
Result<std::unique_ptr<llvm::Module>> prepareSpirv(mlir::ModuleOp module,
                                                   const std::vector<MappedKernel>& kernels,
                                                   const VulkanOptions& options, llvm::LLVMContext& context);

// Replaces operations whose result Vulkan leaves open, or that its types have not, by calls of kmath's exact
// ones, which are declared: division, square root, fused multiply-add, remainder, and all arithmetic on
// floats of 16 bits.
Status replaceInexact(llvm::Module& module);

// How the paths of a block that branches come together: SPIR-V has them declared.
struct Merge {
  llvm::BasicBlock* merge = nullptr;
  llvm::BasicBlock* next = nullptr;  // the continue target of a loop; null: of a selection
};
using Merges = llvm::DenseMap<const llvm::BasicBlock*, Merge>;

// Gives every loop and every selection of a function blocks of their own to meet in. The function comes from
// LLVM's StructurizeCFG. kInternal: its paths do not nest.
Result<Merges> structure(llvm::Function& function);

// What a kernel of the module that prepareSpirv made does with floats, and what it calls.
FloatUse floatUseOf(const llvm::Function& kernel);

// The module as words. kInternal: something that is not served, by name.
Result<SpirvImage> emitSpirv(llvm::Module& module, const std::vector<MappedKernel>& kernels);

}  // namespace kiln::codegen
