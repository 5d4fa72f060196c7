// What becomes one kernel when a group is tiled. Private to compiler_core/schedule.
#pragma once

#include "compiler_core/schedule/knobs/kernel_shape.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/SmallBitVector.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"

namespace kiln::schedule {

// Groups that hold a contraction or a window: they stay as they are.
using Anchored = llvm::DenseSet<std::int64_t>;
Anchored findAnchored(llvm::ArrayRef<mlir::linalg::LinalgOp> ops);

// What is known about a group before it is tiled.
struct KernelGroup {
  llvm::SetVector<mlir::Operation*> members;  // the root first, then the producers to be fused into its tiles
  llvm::SmallBitVector divisible;             // loops of the root that every member follows
  llvm::DenseMap<mlir::Operation*, std::int64_t>
      copies;  // of each member: uses that lead from the root to it
};
// The root with the producers that are fused into its tiles: those of its own group, and row reductions of
// others where that pays.
KernelGroup collectKernel(mlir::linalg::LinalgOp root, const Anchored& anchored);

KernelKind kindOf(const KernelGroup& group, bool forDevice);

// Positions that a window of a convolution sees: its sum runs over channels, then over these.
std::int64_t windowPositions(mlir::linalg::LinalgOp convolution);

// Scalar operations of the whole group per point of the root.
std::int64_t workOf(const KernelGroup& group);

// Nothing is shared between the results of the group: one operation, and what fills its result before.
bool isSingle(const KernelGroup& group, KernelKind kind);

}  // namespace kiln::schedule
