// The pointwise operations around a contraction that become part of it: the prologue fills its accumulators,
// the epilogue works on its results while they are in registers. Private to compiler_core/schedule.
#pragma once

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/IR/PatternMatch.h"

namespace kiln::schedule {

class PrologueEpilogue {
 public:
  explicit PrologueEpilogue(mlir::linalg::LinalgOp op);

  // The operations that become part of the contraction.
  llvm::SmallVector<mlir::Operation*> absorbed() const;
  // Where the contraction with its prologue and epilogue stands: behind everything that they read.
  mlir::Operation* place() const { return after_ ? after_ : op_; }

  // What the accumulator of the result at `indices` of the contraction's buffer begins with.
  mlir::Value begin(mlir::OpBuilder& builder, llvm::ArrayRef<mlir::Value> indices) const;
  // Stores the result at `indices`, or what the operation behind makes of it.
  void finish(mlir::OpBuilder& builder, mlir::Value value, llvm::ArrayRef<mlir::Value> indices) const;

  // Erases the contraction, what it took in, and its buffer if nothing uses that any more.
  void erase(mlir::RewriterBase& rewriter);

 private:
  mlir::linalg::LinalgOp op_;
  mlir::linalg::LinalgOp before_, after_;  // null: memory
};

}  // namespace kiln::schedule
