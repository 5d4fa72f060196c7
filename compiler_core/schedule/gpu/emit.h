// Linalg operations on buffers as code of the threads of a block. Private to compiler_core/schedule.
//
// Each operation is one phase: between two phases stands a gpu.barrier, which the pass writes. Threads are
// numbered by gpu.thread_id x in [0, threads); bounds that depend on them never stand around a barrier.
#pragma once

#include <optional>
#include <string_view>

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/IR/PatternMatch.h"

namespace kiln::schedule {

struct GpuOptions {
  int threads = 256;        // of a block: a multiple of 32, at most 1024
  bool contraction = true;  // acc + a * b in a reduction becomes one fused operation
  std::string_view arch;    // "sm_90a"
  bool tf32 = false;        // products of f32 may round their factors to 10 bits of mantissa
};

// The part of an operation's results that a block makes: `count` of them (0: all) from `first` on, in the
// order of `PhaseEmitter`. A null `first` is 0.
struct Share {
  mlir::Value first;
  std::int64_t count = 0;
};

// Writes any linalg operation at the insertion point, one result per thread at a time, neighbouring threads
// at neighbouring elements. Reductions run inside a thread in the order of the model. Does not erase `op`.
void emitPointwise(mlir::RewriterBase& rewriter, mlir::linalg::LinalgOp op, mlir::Value thread,
                   const GpuOptions& options, const Share& share = {});

}  // namespace kiln::schedule
