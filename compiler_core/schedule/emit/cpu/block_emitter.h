// Writes a linalg operation on buffers as loops around a block of vector registers: `rows` x `lanes` results
// are held in registers while the reduction loops run, then stored. Elementwise operations are the case
// without reductions. Each result is accumulated in the order of the reduction loops, whatever the block: the
// bits do not depend on it. Private to compiler_core/schedule.
#pragma once

#include "compiler_core/schedule/analysis/roles.h"
#include "compiler_core/schedule/emit/cpu/block_options.h"
#include "compiler_core/schedule/emit/cpu/fused_product.h"
#include "mlir/IR/PatternMatch.h"

namespace kiln::schedule {

// Emits at `op` and erases it.
void emitBlocks(mlir::RewriterBase& rewriter, mlir::linalg::LinalgOp op, const Roles& roles,
                const BlockOptions& options);

// The same with what is fused with a product, each of whose results is then stored once. At the builder's
// place; erases all parts. Where one of these has no such form, they are emitted one after the other.
void emitBlocks(mlir::RewriterBase& rewriter, const FusedProduct& product, const BlockOptions& options);

}  // namespace kiln::schedule
