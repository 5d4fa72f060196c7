// Convolutions whose channels lie along the lanes. Private to compiler_core/schedule.
#pragma once

#include "compiler_core/schedule/emit/cpu/block_emitter.h"

namespace kiln::schedule {

// Lanes of the panels that the weights of a convolution of so many channels lie in; 0: it has no such form.
std::int64_t channelPanel(std::int64_t channels, const VectorShape& registers);

// The lanes of the panels that the weight of a convolution on tensors lies in; 0: no schedule may put
// channels along the lanes.
std::int64_t mayTakeChannelLanes(mlir::linalg::LinalgOp product, const VectorShape& registers);

// Writes a convolution as the product of its weights, which lie in panels of channels in the artifact, with
// the numbers of its window where they are: results are summed up in scratch as [position][channel], in the
// order of the operation, and transposed in registers at the end. Erases the parts of `product`, at the
// builder's place; false where it has no such form: they stay.
bool emitChannelLanes(mlir::RewriterBase& rewriter, const FusedProduct& product, const BlockOptions& options);

}  // namespace kiln::schedule
