// Linalg operations on buffers as code of the threads of a block. Private to compiler_core/schedule.
//
// Each operation is one phase: between two phases stands a gpu.barrier, which the pass writes. Threads are
// numbered by gpu.thread_id x; bounds that depend on them never stand around a barrier.
#pragma once

#include "compiler_core/ir/ir.h"
#include "compiler_core/schedule/emit/gpu/distribution.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/IR/PatternMatch.h"

namespace kiln::schedule {

struct GpuOptions {
  bool contraction = true;              // acc + a * b in a reduction becomes one fused operation
  bool tf32 = false;                    // products of f32 may round their factors to 10 bits of mantissa
  bool tensorCores = true;              // the device has those of NVIDIA's
  std::int64_t sharedBytes = 48 << 10;  // of a block
};

// Moves fills into the operations behind them that start from what was filled in, as kiln.initial.
void foldFills(mlir::func::FuncOp function);

// `op` with parallel loops made one where no operand sees a difference, at the insertion point; `op` itself
// where there are none. Keeps the order of the results.
mlir::linalg::LinalgOp collapseLoops(mlir::OpBuilder& builder, mlir::linalg::LinalgOp op);

// What the address of a buffer's first element is a multiple of, in bytes: a power of two.
std::int64_t alignmentOf(mlir::Value buffer);

}  // namespace kiln::schedule
