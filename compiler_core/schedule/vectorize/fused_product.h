// A product together with what fills its results before and what works on each of them behind it, so that
// results reach memory once. Private to compiler_core/schedule.
#pragma once

#include "compiler_core/schedule/vectorize/loop_nest.h"

namespace kiln::schedule {

struct FusedProduct {
  mlir::linalg::LinalgOp op;
  mlir::linalg::LinalgOp init, epilogue;  // elementwise, over the product's parallel loops; may be null
  llvm::SmallVector<unsigned> results;    // the epilogue's operands that are the product's results

  // In the order of a nest's operands.
  llvm::SmallVector<mlir::linalg::LinalgOp> parts() const;
};

// Finds what may be fused with `op`, without `taken`; nothing where an extent is known at run time only.
FusedProduct findFused(mlir::linalg::LinalgOp op, const llvm::DenseSet<mlir::Operation*>& taken);

// The product's loops, with the operands of all parts one after the other. Null as for one operation.
std::optional<LoopNest> nestOf(mlir::OpBuilder& builder, const FusedProduct& product);

// `product` over the loops of `nest`, with init and epilogue where they are wanted: reductions in several
// blocks have one with the first and the other with the last.
FusedProduct emitNest(mlir::OpBuilder& builder, const FusedProduct& product, const LoopNest& nest, bool first,
                      bool last);

}  // namespace kiln::schedule
