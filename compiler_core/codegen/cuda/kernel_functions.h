// Code that kiln-lower-to-nvvm and kiln-lower-to-emulation share. Private to this folder.
#pragma once

#include <cstdint>

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

namespace kiln::codegen {

// Alignment of a block's shared memory and of each attribution in it, in bytes.
inline constexpr std::uint64_t kSharedAlignment = 128;

// The tensor core steps that both ways know.
enum class MmaKind { kF16, kBf16, kTf32 };

// What differs between the ways. One object serves one kernel after the other.
class KernelLowering {
 public:
  virtual ~KernelLowering() = default;

  // The function that takes the place of `kernel`, with an empty entry block; it is inserted by the caller.
  virtual mlir::func::FuncOp declare(mlir::OpBuilder& b, mlir::gpu::GPUFuncOp kernel,
                                     std::uint32_t threads) = 0;
  // At the beginning of the function that declare made last: the parameter as an LLVM pointer, integer or
  // float.
  virtual mlir::Value parameter(mlir::OpBuilder& b, mlir::Location loc, unsigned index, mlir::Type type) = 0;
  // At the beginning: an LLVM pointer to the block's shared memory of `bytes`.
  virtual mlir::Value shared(mlir::OpBuilder& b, mlir::Location loc, std::uint64_t bytes) = 0;
  // LLVM's address space of shared memory.
  virtual unsigned sharedSpace() const = 0;
  // i32.
  virtual mlir::Value threadId(mlir::OpBuilder& b, mlir::Location loc) = 0;
  virtual mlir::Value blockId(mlir::OpBuilder& b, mlir::Location loc, mlir::gpu::Dimension dimension) = 0;
  virtual void barrier(mlir::OpBuilder& b, mlir::Location loc) = 0;
  // Returns the struct of four f32 that takes the place of op's result; may be that result itself.
  virtual mlir::Value mma(mlir::OpBuilder& b, mlir::NVVM::MmaOp op, MmaKind kind) = 0;
};

// Lowers every kernel of the module's gpu.module; diagnostics name what fails.
mlir::LogicalResult lowerKernels(mlir::ModuleOp module, KernelLowering& lowering);

}  // namespace kiln::codegen
