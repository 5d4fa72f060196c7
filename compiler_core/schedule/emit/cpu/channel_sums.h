// Sums of a convolution in scratch, [position][channel], and what makes results of them. Private to
// compiler_core/schedule.
#pragma once

#include "compiler_core/schedule/emit/cpu/block_emitter.h"

namespace kiln::schedule {

struct ChannelSums {
  mlir::Value buffer;        // of rank 1
  std::int64_t lanes = 0;    // channels of a position: a multiple of `width`
  std::int64_t width = 0;    // lanes of a register
  mlir::OpFoldResult first;  // where in the buffer they begin
};

// Writes the sums of `positions` to `results`, whose positions lie side by side and whose channels lie
// `stride` elements apart: squares of them are transposed in registers.
void emitTransposed(mlir::OpBuilder& builder, mlir::Location loc, const ChannelSums& sums,
                    std::int64_t positions, const LoopNest::Place& results, std::int64_t stride);

// The product's epilogue by itself, over what is left of the parallel loops of `nest` (the product's).
void emitEpilogue(mlir::RewriterBase& builder, const FusedProduct& product, const LoopNest& nest,
                  const BlockOptions& options);

}  // namespace kiln::schedule
