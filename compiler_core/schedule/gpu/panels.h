// Panels of a contraction's operands in shared memory: all threads of a block together gather a piece of
// `rows x depth` factors through the operand's indexing map, with zeros where the operand ends. Private to
// compiler_core/schedule.
#pragma once

#include "compiler_core/schedule/gpu/contraction_roles.h"
#include "compiler_core/schedule/gpu/index_math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

namespace kiln::schedule {

// How the factors lie in a panel.
enum class PanelOrder {
  kRowsInside,   // [depth][rows]: what each thread multiplies step by step
  kDepthInside,  // [rows][depth]: as tensor cores take pairs of neighbours along the depth
};

struct PanelShape {
  std::int64_t rows = 0, depth = 0;
  PanelOrder order = PanelOrder::kRowsInside;
  bool codes = false;       // keeps 16-bit codes packed
  bool roundsTf32 = false;  // f32, rounded to the 10 bits of mantissa that tensor cores read
};

// The loops of a contraction as the emitter sees them.
struct LoopNest {
  mlir::linalg::LinalgOp op;
  llvm::SmallVector<mlir::OpFoldResult> sizes;  // the extent of every loop
  llvm::SmallVector<unsigned> batch, reductions;

  llvm::SmallVector<mlir::OpFoldResult> sizesOf(llvm::ArrayRef<unsigned> loops) const;
};

class Panel {
 public:
  // Makes the buffer where the builder stands. `thread` counts up to `threads`.
  Panel(mlir::OpBuilder& builder, const LoopNest& nest, const Factor& factor, const PanelShape& shape,
        mlir::Value thread, std::int64_t threads);

  // Rows from `rowFrom` on, of one point of the batch loops.
  void setRows(llvm::ArrayRef<mlir::Value> batch, mlir::Value rowFrom);
  // What this thread contributes to the piece that begins at `depthFrom`, loaded into registers. The types
  // are the same for every piece.
  llvm::SmallVector<mlir::Value> load(mlir::Value depthFrom);
  llvm::SmallVector<mlir::Value> zeros();
  std::size_t slots() const { return slots_.size(); }
  // Puts what was loaded into the panel.
  void store(mlir::ValueRange loaded);

  // `count` neighbours along the inner dimension; count 0: one factor. `row` and `depth` are the first's.
  mlir::Value read(mlir::Value row, mlir::Value depth, std::int64_t count);
  mlir::Type element() const { return buffer_.getType().getElementType(); }
  const PanelShape& shape() const { return shape_; }

 private:
  // One access of this thread: `width` neighbours.
  struct Slot {
    mlir::Value row, depth;  // in the panel
    mlir::Value isActive;    // null: always
    llvm::SmallVector<mlir::Value> loops;  // of the factor's own loops
    mlir::Value isInside;                  // the row; null: always
  };

  std::int64_t widthOf(unsigned inner, bool alongDepth) const;
  bool decideOrder();
  void makeSlots();
  mlir::Value converted(mlir::Value loaded);
  llvm::SmallVector<mlir::Value> place(mlir::Value row, mlir::Value depth);
  mlir::Type loadedType() const;

  mlir::OpBuilder& b_;
  mlir::Location loc_;
  IndexMath math_;
  const LoopNest& nest_;
  const Factor& factor_;
  PanelShape shape_;
  mlir::Value thread_;
  std::int64_t threads_;
  mlir::AffineMap map_;
  mlir::OpFoldResult rows_, depth_;  // extents in all
  bool alongDepth_ = false;          // neighbouring threads load neighbours along the depth
  std::int64_t width_ = 1;
  mlir::TypedValue<mlir::MemRefType> buffer_;
  llvm::SmallVector<Slot> slots_;
  llvm::SmallVector<mlir::Value> batch_;
};

}  // namespace kiln::schedule
