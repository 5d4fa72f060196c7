// Extents of the loops of linalg operations that depend on symbols. Private to compiler_core/schedule.
#pragma once

#include <optional>

#include "compiler_core/ir/dims.h"
#include "compiler_core/ir/ir.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"

namespace kiln::schedule {

// Numbers for all loops of `op`: symbolic ones where every symbol has the value that the profile is made for,
// or where each is as large as the profile allows. One whose expression is lost counts as `kUnknownExtent`.
inline constexpr std::int64_t kUnknownExtent = 1024;
llvm::SmallVector<std::int64_t> estimatedExtents(mlir::linalg::LinalgOp op);
llvm::SmallVector<std::int64_t> largestExtents(mlir::linalg::LinalgOp op);

// How many positions `loops` of `op` have together; nullopt where only the run knows, or 64 bits do not hold
// it.
std::optional<std::int64_t> staticPositions(mlir::linalg::LinalgOp op, llvm::ArrayRef<unsigned> loops);

// Replaces each tensor.dim that tiling left in and before `loop` by the size its tensor was made with, so
// that no tensor is kept for its size alone.
void resolveSizes(mlir::Operation* loop, mlir::RewriterBase& rewriter);

}  // namespace kiln::schedule
