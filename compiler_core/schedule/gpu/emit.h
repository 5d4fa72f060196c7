// Linalg operations on buffers as code of the threads of a block. Private to compiler_core/schedule.
//
// Each operation is one phase: between two phases stands a gpu.barrier, which the pass writes. Threads are
// numbered by gpu.thread_id x in [0, threads); bounds that depend on them never stand around a barrier.
#pragma once

#include <string_view>

#include "compiler_core/ir/ir.h"
#include "compiler_core/schedule/gpu/distribution.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/IR/PatternMatch.h"

namespace kiln::schedule {

struct GpuOptions {
  int threads = 256;        // of a block: a multiple of 32, at most 1024
  bool contraction = true;  // acc + a * b in a reduction becomes one fused operation
  std::string_view arch;    // "sm_90a"
  bool tf32 = false;        // products of f32 may round their factors to 10 bits of mantissa
};

// Moves fills into the operations behind them that start from what was filled in, as kiln.initial.
void foldFills(mlir::func::FuncOp function);

// `op` with parallel loops made one where no operand sees a difference, at the insertion point; `op` itself
// where there are none. Keeps the order of the results.
mlir::linalg::LinalgOp collapseLoops(mlir::OpBuilder& builder, mlir::linalg::LinalgOp op);

// What the address of a buffer's first element is a multiple of, in bytes: a power of two.
std::int64_t alignmentOf(mlir::Value buffer);

// Writes any linalg operation at the insertion point, neighbouring threads at neighbouring elements, some
// results of a thread side by side where loads and stores then take 16 bytes. Reductions run inside a thread
// in the CPU's order. Does not erase `op`.
void emitPointwise(mlir::RewriterBase& rewriter, mlir::linalg::LinalgOp op, mlir::Value thread,
                   const GpuOptions& options, const Share& share = {});

// Long reductions of few results in any order, or in that of partial sums: each is shared out to several
// threads, whose parts are combined in a fixed order. False where the order is another one or there is little
// to share: nothing is written.
bool emitSharedReduction(mlir::RewriterBase& rewriter, mlir::linalg::LinalgOp op, mlir::Value thread,
                         const GpuOptions& options);

// kiln.call, where a function of the kernel library has a form for threads: running sums and
// arg-reductions a thread per line, scatters a thread per result. `positions` are what a Share counts.
bool hasThreadForm(ir::CallOp call);
mlir::OpFoldResult positions(mlir::OpBuilder& builder, ir::CallOp call);
void emitCall(mlir::RewriterBase& rewriter, ir::CallOp call, mlir::Value thread, const GpuOptions& options,
              const Share& share = {});

}  // namespace kiln::schedule
