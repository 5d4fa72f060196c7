// Results distributed over the threads of a block. Private to compiler_core/schedule.
#pragma once

#include "compiler_core/schedule/emit/gpu/block_thread.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/OpDefinition.h"

namespace kiln::schedule {

// The part of an operation's results that a block makes: `count` of them from `first` on. A null `first`:
// all.
struct Share {
  mlir::Value first;
  std::int64_t count = 0;
};

// body(position) for every position of the share in [0, points), each in one thread of the block;
// neighbouring threads have neighbouring positions. Positions are i32 where `points` is a number that allows
// it, else index.
void distributeOverThreads(mlir::OpBuilder& builder, mlir::Location loc, mlir::OpFoldResult points,
                           const BlockThread& thread, const Share& share,
                           llvm::function_ref<void(mlir::Value position)> body);

}  // namespace kiln::schedule
