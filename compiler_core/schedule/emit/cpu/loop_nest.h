// A linalg operation on buffers as a nest of loops with one stride per operand: what is left of shapes and
// indexing maps once all of them are numbers. Private to compiler_core/schedule.
#pragma once

#include <optional>

#include "mlir/Dialect/Linalg/IR/Linalg.h"

namespace kiln::schedule {

struct NestLoop {
  std::int64_t extent = 1;
  mlir::utils::IteratorType type = mlir::utils::IteratorType::parallel;
  llvm::SmallVector<std::int64_t> strides;  // per operand of the operation, in elements

  bool isReduction() const { return type == mlir::utils::IteratorType::reduction; }
};

struct LoopNest {
  llvm::SmallVector<NestLoop> loops;  // in the operation's order
  // Per operand: the buffer (or number), and where in it the nest begins.
  struct Place {
    mlir::Value buffer;
    mlir::OpFoldResult offset;  // elements from the beginning of the allocation
  };
  llvm::SmallVector<Place> operands;
};

// Null where an extent or a stride is known at run time only, or the body reads indices. Emits at the
// builder's place what the offsets need.
std::optional<LoopNest> nestOf(mlir::OpBuilder& builder, mlir::linalg::LinalgOp op);

// Loops of one iteration disappear; neighbours that all operands step through as through one become one, the
// order of iterations stays.
void joinLoops(LoopNest& nest);

// Iterations of these loops together.
std::int64_t points(const LoopNest& nest, llvm::ArrayRef<unsigned> loops);

// Whether `operand` steps through these loops as through one.
bool isOne(const LoopNest& nest, llvm::ArrayRef<unsigned> loops, unsigned operand);

// The loops whose elements of `operand` lie side by side, in order; the others are appended to `rest`.
llvm::SmallVector<unsigned> takeSideBySide(const LoopNest& nest, llvm::ArrayRef<unsigned> loops,
                                           unsigned operand, llvm::SmallVectorImpl<unsigned>& rest);

struct LoopRange {
  std::int64_t from, to, by;  // `by` divides what is between
};
// body() at every `by`-th iteration of loop `number`, `by` of them at a time, with the operands' places moved
// there.
void walkLoop(mlir::OpBuilder& builder, mlir::Location loc, LoopNest& nest, unsigned number, LoopRange range,
              llvm::function_ref<void()> body);

// `nest` with the body of `op`, at the builder's place.
mlir::linalg::GenericOp emitNest(mlir::OpBuilder& builder, mlir::linalg::LinalgOp op, const LoopNest& nest);

// A nest of two operands whose second becomes a copy of the first.
mlir::linalg::GenericOp emitCopy(mlir::OpBuilder& builder, mlir::Location loc, const LoopNest& nest);

}  // namespace kiln::schedule
