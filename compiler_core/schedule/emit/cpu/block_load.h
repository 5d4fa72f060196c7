// Loads of a block's operands, from where each of them lies. Private to compiler_core/schedule.
#pragma once

#include "compiler_core/schedule/emit/cpu/block_panels.h"

namespace kiln::schedule {

// The numbers of operands of an elementwise operation that its lanes share.
using Invariants = llvm::SmallDenseMap<mlir::OpOperand*, mlir::Value>;
// Loads the operands of an elementwise operation that are invariant along the lanes once, before the loop
// over them: stores in the loop would have them read again and again.
Invariants loadInvariants(mlir::OpBuilder& builder, const BlockKernel& kernel, const LoopPosition& at);

// Where the blocks of one run of lanes have operands that are not read in place.
struct BlockSources {
  Invariants invariants;
  mlir::OpOperand* packed = nullptr;  // the operand that is read from a copy in panels
  mlir::Value panel;                  // the panels of this run
  mlir::OpFoldResult panelNumber;     // which of them
  PanelPlaces places;                 // of the weights that lie in panels
};

// Operands whose elements lie side by side along the innermost reduction loop, not along the lanes: a square
// of lanes and steps is loaded as vectors and transposed in registers, instead of one load per lane and step.
// By operand, row and first lane: the vectors of `width` steps of the reduction.
using TransposedSquares = llvm::DenseMap<std::pair<unsigned, std::pair<std::int64_t, std::int64_t>>,
                                         llvm::SmallVector<mlir::Value>>;
// Those of them that a block of `pieces` reads so in the reduction loop at `depth`; none where it is no
// innermost one.
llvm::SmallVector<mlir::OpOperand*> findTransposable(const BlockKernel& kernel, const LoopPosition& at,
                                                     std::size_t depth, llvm::ArrayRef<Piece> pieces);
// The squares of a block of `rows` for the steps that begin at `at`.
TransposedSquares loadTransposed(mlir::OpBuilder& builder, const BlockKernel& kernel, const LoopPosition& at,
                                 llvm::ArrayRef<mlir::OpOperand*> operands, std::int64_t rows,
                                 llvm::ArrayRef<Piece> pieces);

// Where a block begins, and what its operands are loaded from there.
struct BlockPlace {
  const LoopPosition& at;
  const BlockSources& sources;
  const TransposedSquares* squares = nullptr;  // null: none
  std::int64_t step = 0;                       // of the squares
};

// A register of the operand.
mlir::Value loadOperand(mlir::OpBuilder& builder, const BlockKernel& kernel, const BlockPlace& place,
                        mlir::OpOperand& operand, std::int64_t row, const Piece& piece);

// Loads each operand once per row and piece that it depends on.
class OperandLoads {
 public:
  OperandLoads(mlir::OpBuilder& builder, const BlockKernel& kernel, const BlockPlace& place,
               llvm::ArrayRef<Piece> pieces)
      : builder_(builder), kernel_(kernel), place_(place), pieces_(pieces) {}
  // Emits the load where it is the first one.
  mlir::Value get(mlir::OpOperand& operand, std::int64_t row, std::size_t piece);

 private:
  mlir::OpBuilder& builder_;
  const BlockKernel& kernel_;
  const BlockPlace& place_;
  llvm::ArrayRef<Piece> pieces_;
  llvm::DenseMap<std::pair<unsigned, std::pair<std::int64_t, std::int64_t>>, mlir::Value> values_;
};

}  // namespace kiln::schedule
