// The transforms of Winograd's F(m x m, 3 x 3) on vectors, with the points 0, 1, -1, infinity (m = 2) and 2,
// -2 between them (m = 4). Those of the weights are in ../package/filter_transform.h. Private to
// compiler_core/schedule.
#pragma once

#include "mlir/IR/Builders.h"

namespace kiln::schedule {

// Transforms the (m + 2) x (m + 2) numbers of a tile's input, row by row, into those that weights are
// multiplied with. fuse: products and sums may be one operation.
llvm::SmallVector<mlir::Value> transformInput(mlir::OpBuilder& builder, mlir::Location loc, std::int64_t m,
                                              llvm::ArrayRef<mlir::Value> numbers, bool fuse);

// The m x m results of a tile from its (m + 2) x (m + 2) sums of products, row by row.
llvm::SmallVector<mlir::Value> transformOutput(mlir::OpBuilder& builder, mlir::Location loc, std::int64_t m,
                                               llvm::ArrayRef<mlir::Value> sums, bool fuse);

}  // namespace kiln::schedule
