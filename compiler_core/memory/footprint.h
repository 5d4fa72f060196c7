// The bytes that a kernel moves from and to memory.
#pragma once

#include "compiler_core/ir/dims.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace kiln::memory {

// The most bytes that the buffers from outside of a loop take, each counted once if it is read and once if it
// is written: less than that no kernel moves that uses all of them, whatever caches there are; one that picks
// from a buffer may. `limits`: of the symbols of the function around it.
std::uint64_t movedBytes(mlir::scf::ForallOp loop, llvm::ArrayRef<ir::Range> limits);

}  // namespace kiln::memory
