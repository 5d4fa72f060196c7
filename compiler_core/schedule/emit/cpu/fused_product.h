// A product together with what fills its results before and what works on each of them behind it, so that
// results reach memory once. Private to compiler_core/schedule.
#pragma once

#include "compiler_core/schedule/emit/cpu/loop_nest.h"

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

// The first of `steps`, the loops of the product's sum, in blocks of at most `most` steps of the sum, at
// least one iteration each: body(isFirst, isLast) for each block. The first and the last one stand by
// themselves where they do more than those between them.
void walkSteps(mlir::OpBuilder& builder, const FusedProduct& product, LoopNest& nest,
               llvm::ArrayRef<unsigned> steps, std::int64_t most,
               llvm::function_ref<void(bool isFirst, bool isLast)> body);

// `product` over the loops of `nest`, with init and epilogue where they are wanted: reductions in several
// blocks have one with the first and the other with the last.
FusedProduct emitNest(mlir::OpBuilder& builder, const FusedProduct& product, const LoopNest& nest, bool first,
                      bool last);

}  // namespace kiln::schedule
