// Convolutions as matrix products, by im2col. Private to compiler_core/schedule.
#pragma once

#include "compiler_core/schedule/emit/cpu/fused_product.h"

namespace kiln::schedule {

// One block of steps: the copy of the window's elements (im2col), and the product with it.
struct Im2colStep {
  mlir::linalg::LinalgOp copy;
  FusedProduct product;
};

// Writes a contraction that reads one factor through a window as loops over copies of that factor, one row
// per step of the sum and a run of results along it, each followed by the plain product with the copy, at the
// builder's place. Steps are taken in the order of the operation, at most `maxSteps` at a time. Returns what
// was made, in order, and erases the parts of `product`. Empty where a window gains nothing: they stay.
llvm::SmallVector<Im2colStep> emitIm2col(mlir::RewriterBase& rewriter, const FusedProduct& product,
                                         std::int64_t maxSteps);

}  // namespace kiln::schedule
