// The two ways of a gpu.module of mapped kernels to functions (passes.h says what they take).
#ifndef KILN_COMPILER_CORE_CODEGEN_CUDA_PASSES_TD
#define KILN_COMPILER_CORE_CODEGEN_CUDA_PASSES_TD

include "mlir/Pass/PassBase.td"

def LowerToNvvmPass : Pass<"kiln-lower-to-nvvm", "::mlir::ModuleOp"> {
  let summary = "Mapped kernels become functions for NVPTX";
  let description = [{
    Special registers, bar.sync, one LLVM global in shared memory per kernel (<kernel>_shared).
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::func::FuncDialect", "::mlir::LLVM::LLVMDialect",
    "::mlir::memref::MemRefDialect", "::mlir::NVVM::NVVMDialect"
  ];
}

def LowerToEmulationPass : Pass<"kiln-lower-to-emulation", "::mlir::ModuleOp"> {
  let summary = "Mapped kernels become functions that an emulated device runs thread by thread";
  let description = [{
    Kernels take (argument words, kiln_emulated_thread) and read numbers, shared memory, barriers and tensor cores
    from the latter (compiler_core/runtime/emulated/emulated_abi.h).
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::func::FuncDialect", "::mlir::LLVM::LLVMDialect",
    "::mlir::memref::MemRefDialect"
  ];
}

#endif
