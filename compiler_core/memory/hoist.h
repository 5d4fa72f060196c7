// Block-local buffers of device kernels that do not fit the memory of a block. Private to
// compiler_core/memory.
#pragma once

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace kiln::memory {

// Moves `alloc` of `block` in front of the loop, as bytes for all its iterations, of which each sees its own
// `bytes` (a multiple of the alignment). The allocation is erased.
void hoist(mlir::memref::AllocOp alloc, mlir::scf::ForallOp block, std::uint64_t bytes);

}  // namespace kiln::memory
