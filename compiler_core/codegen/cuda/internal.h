// The steps of generateDeviceImage that need LLVM. Private to this folder.
#pragma once

#include <string>
#include <vector>

#include "compiler_core/codegen/cuda/codegen.h"
#include "compiler_core/codegen/cuda/passes.h"

namespace kiln::codegen {

// Kernels as functions of the LLVM dialect to PTX text, with the math they need inside.
Result<std::string> emitPtx(mlir::ModuleOp module, const std::vector<MappedKernel>& kernels,
                            const CudaOptions& options);

// Kernels as functions of the LLVM dialect to an ELF that exports kiln_emulation.
Result<std::string> emitEmulation(mlir::ModuleOp module, const std::vector<MappedKernel>& kernels,
                                  const CpuOptions& options);

}  // namespace kiln::codegen
