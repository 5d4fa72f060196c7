// The product of panels of both operands by the threads of a block: the inner part of a contraction. Private
// to compiler_core/schedule.
#pragma once

#include <memory>

#include "compiler_core/schedule/emit/gpu/block_thread.h"
#include "compiler_core/schedule/emit/gpu/panels.h"

namespace kiln::schedule {

// The results that a block makes at a time, and the steps of the panels that it makes them from.
struct TileShape {
  std::int64_t rows = 0, columns = 0, depth = 0;
};

// Which results of a tile are one thread's accumulators.
struct Accumulator {
  std::size_t row, column;  // numbers into rows() and columns()
};

// Rows and columns of one tile, as `TileProduct` shares them out.
class TileProduct {
 public:
  virtual ~TileProduct() = default;
  // Positions in the tile that this thread has results at.
  llvm::ArrayRef<mlir::Value> rows() const { return rows_; }
  llvm::ArrayRef<mlir::Value> columns() const { return columns_; }
  llvm::ArrayRef<Accumulator> accumulators() const { return accumulators_; }
  // Null: this thread has results of its own; else whether it has.
  mlir::Value isActive() const { return isActive_; }

  // Adds the products of the first `depth` steps of the panels, which hold no more than the shape's. A null
  // `depth` stands for all of them.
  virtual llvm::SmallVector<mlir::Value> add(llvm::ArrayRef<mlir::Value> accumulators, const Panel& left,
                                             const Panel& right, mlir::Value depth) = 0;
  // Whether zeros behind the last step change nothing: `depth` is never given then.
  virtual bool takesZeros() const = 0;

 protected:
  llvm::SmallVector<mlir::Value> rows_, columns_;
  llvm::SmallVector<Accumulator> accumulators_;
  mlir::Value isActive_;
};

// One after the other in registers. `fuse`: multiply and add round once.
std::unique_ptr<TileProduct> makeScalarProduct(mlir::OpBuilder& builder, mlir::Location loc,
                                               const TileShape& tile, const BlockThread& thread, bool fuse);

enum class TensorCore { kF16, kBF16, kTf32 };
// Steps of one instruction.
constexpr std::int64_t stepsOf(TensorCore kind) {
  return kind == TensorCore::kTf32 ? 8 : 16;
}

// By mma.sync, warps side by side over the tile. Its rows are a multiple of 16, its columns of 8, its depth
// of the instruction's steps; all powers of two.
std::unique_ptr<TileProduct> makeWarpProduct(mlir::OpBuilder& builder, mlir::Location loc, TensorCore kind,
                                             const TileShape& tile, const BlockThread& thread);

}  // namespace kiln::schedule
