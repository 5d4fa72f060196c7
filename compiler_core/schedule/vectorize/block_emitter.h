// Writes a linalg operation on buffers as loops around a block of vector registers: `rows` x `lanes` results
// are held in registers while the reduction loops run, then stored. Elementwise operations are the case
// without reductions. Each result is accumulated in the order of the reduction loops, whatever the block: the
// bits do not depend on it. Private to compiler_core/schedule.
#pragma once

#include "compiler_core/schedule/analysis/roles.h"
#include "compiler_core/schedule/vectorize/fused_product.h"
#include "mlir/IR/PatternMatch.h"

namespace kiln::schedule {

// Longest run of a single reduction loop before results go back to memory, where the schedule does not say.
inline constexpr std::int64_t kMaxReduction = 512;

struct BlockOptions {
  VectorShape shape;
  bool contraction = true;  // acc + a * b in a reduction becomes one fused operation
  Schedule schedule;        // of the kernel; a knob that it does not have is left to the emitter
  bool pack = true;         // operands of long rows may be copied to panels
  // The factor along the lanes lies dense from one block of steps to the next: while the rows run over one,
  // the next one is prefetched to L2.
  bool prefetchNextBlock = false;
};

// Emits at `op` and erases it.
void emitBlocks(mlir::RewriterBase& rewriter, mlir::linalg::LinalgOp op, const Roles& roles,
                const BlockOptions& options);

// The same with what is fused with a product, each of whose results is then stored once. At the builder's
// place; erases all parts. Where one of these has no such form, they are emitted one after the other.
void emitBlocks(mlir::RewriterBase& rewriter, const FusedProduct& product, const BlockOptions& options);

}  // namespace kiln::schedule
