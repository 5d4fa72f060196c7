// The steps of generateDeviceImage that need LLVM. Private to this folder and to codegen/vulkan.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "compiler_core/codegen/cuda/codegen.h"
#include "compiler_core/codegen/cuda/passes.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

namespace llvm {
class TargetMachine;
}
namespace mlir {
class Pass;
}

namespace kiln::codegen {

// A copy of the module in the LLVM dialect, by way of `pass`, one of those of passes.h.
Result<mlir::OwningOpRef<mlir::ModuleOp>> lowerDeviceKernels(mlir::ModuleOp module,
                                                             std::unique_ptr<mlir::Pass> pass,
                                                             bool scalarMath);

// LLVM's machine of a device. kUnimplemented: this LLVM has no NVPTX.
Result<std::unique_ptr<llvm::TargetMachine>> makeDeviceMachine(const std::string& arch, bool contraction);

// Kernels as functions of the LLVM dialect to PTX text, with the math they need inside.
Result<std::string> emitPtx(mlir::ModuleOp module, const std::vector<MappedKernel>& kernels,
                            const CudaOptions& options);

// Kernels as functions of the LLVM dialect to an ELF that exports kiln_emulation.
Result<std::string> emitEmulation(mlir::ModuleOp module, const std::vector<MappedKernel>& kernels,
                                  const CpuOptions& options);

}  // namespace kiln::codegen
