// Convolutions as matrix products, by im2col. Private to compiler_core/schedule.
#pragma once

#include "compiler_core/schedule/emit/cpu/block_emitter.h"

namespace kiln::schedule {

// Writes a contraction that reads one factor through a window as loops over copies of that factor, one row
// per step of the sum and a run of results along it, each followed by the plain product with the copy, at the
// builder's place. Steps are taken in the order of the operation, at most as many at a time as the schedule
// says. Erases the parts of `product`. False where the schedule wants no copies or a window gains nothing:
// they stay.
bool emitByIm2col(mlir::RewriterBase& rewriter, const FusedProduct& product, const BlockOptions& options);

}  // namespace kiln::schedule
