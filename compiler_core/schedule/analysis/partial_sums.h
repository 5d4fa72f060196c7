// The order of sums along what lies side by side in memory. Private to compiler_core/schedule.
//
// A sum of floats whose reduced dimensions include the innermost one (a reduction or a mean, a softmax, a
// normalisation; no product of matrices, no pooling) has kPartials partial sums, each of which begins with 0.
// Element i of the innermost dimension is added to partial i mod kPartials, in order of i; outer reduced
// dimensions run around that, in order. Then partial p takes partial p + 8, then p + 4, p + 2, p + 1. That
// is the order on every target, under every schedule: vectors lie along the rows, whatever their width.
// kiln.partials marks the linalg operations that are such sums.
#pragma once

#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/Builders.h"

namespace kiln::schedule {

inline constexpr std::int64_t kPartials = 16;

// Writes such sums with one value for each partial, at the builder's place: `zeros` begin them (one for each
// of several sums that run side by side), `step` adds the elements at an index of the reduction loops,
// `extents` are those of these loops. Returns the sums.
using SumStep = llvm::function_ref<llvm::SmallVector<mlir::Value>(llvm::ArrayRef<mlir::OpFoldResult> at,
                                                                  llvm::ArrayRef<mlir::Value> partials)>;
llvm::SmallVector<mlir::Value> emitPartialSums(mlir::OpBuilder& builder, mlir::Location loc,
                                               llvm::ArrayRef<mlir::OpFoldResult> extents,
                                               llvm::ArrayRef<mlir::Value> zeros, SumStep step);

}  // namespace kiln::schedule
