// Convolutions of 3x3 by fewer products than they have (tiles.h). Private to compiler_core/schedule.
#pragma once

#include "compiler_core/schedule/emit/cpu/block_emitter.h"

namespace kiln::schedule {

// Writes a convolution that roles.h finds, whose schedule says so, with the weights that the artifact has as
// points (compiler_core/package/filter_transform.h): tiles of the input become points in scratch,
// [point][tile][channel]; for each panel of output channels and each point, tiles and weights are multiplied;
// results come back from the points. Sums are in no order of the model's, but in one that the schedule alone
// decides. Erases the parts of `product`, at the builder's place; false where it has no such form: they stay.
bool emitWinograd(mlir::RewriterBase& rewriter, const FusedProduct& product, const BlockOptions& options);

}  // namespace kiln::schedule
