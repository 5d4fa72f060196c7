// Panels of a product's factors in shared memory. Private to compiler_core/schedule.
#pragma once

#include <functional>

#include "compiler_core/schedule/emit/gpu/block_thread.h"
#include "compiler_core/schedule/emit/gpu/index_math.h"
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
  bool codes = false;       // of 16 bits, as they are stored
  bool roundsTf32 = false;  // f32, rounded to the 10 bits of mantissa that tensor cores read
};

class Panel {
 public:
  // Makes the buffer where the builder stands.
  Panel(mlir::OpBuilder& builder, mlir::Location loc, const PanelShape& shape, mlir::Type element);
  virtual ~Panel() = default;

  // `count` neighbours along the inner dimension; count 0: one factor. `row` and `depth` are the first's.
  mlir::Value read(mlir::Value row, mlir::Value depth, std::int64_t count) const;
  // One factor.
  void write(mlir::Value factor, mlir::Value row, mlir::Value depth) const;
  const PanelShape& shape() const { return shape_; }

 protected:
  // A factor of the arithmetic's type as the panel keeps it.
  mlir::Value converted(mlir::Value factor) const;
  llvm::SmallVector<mlir::Value> place(mlir::Value row, mlir::Value depth) const;

  mlir::OpBuilder& b_;
  mlir::Location loc_;
  IndexMath math_;
  PanelShape shape_;
  mlir::TypedValue<mlir::MemRefType> buffer_;
};

// The loops of a product: a row of one factor, a step of the sum, a point of the batch is each a position in
// several loops.
struct ProductLoops {
  llvm::SmallVector<mlir::OpFoldResult> sizes;  // the extent of every loop
  llvm::SmallVector<unsigned> batch, reductions;

  llvm::SmallVector<mlir::OpFoldResult> sizesOf(llvm::ArrayRef<unsigned> loops) const;
};

// Where one factor comes from.
struct PanelSource {
  mlir::Value buffer;
  mlir::AffineMap map;               // from loops to the buffer
  llvm::SmallVector<unsigned> rows;  // its own loops
  mlir::Type factor;                 // what is multiplied
  // From the element that is stored to the factor; null: they are the same.
  std::function<mlir::Value(mlir::OpBuilder&, mlir::Location, mlir::Value)> unpack;
};

// All threads of a block together gather a piece of `rows x depth` factors through an indexing map, with
// zeros where the factor ends.
class GatheredPanel : public Panel {
 public:
  // `nest` is kept.
  GatheredPanel(mlir::OpBuilder& builder, mlir::Location loc, const ProductLoops& nest, PanelSource source,
                const PanelShape& shape, const BlockThread& thread);

  // Rows from `rowFrom` on, of one point of the batch loops.
  void setRows(llvm::ArrayRef<mlir::Value> batch, mlir::Value rowFrom);
  // What this thread contributes to the piece that begins at `depthFrom`, loaded into registers. The types
  // are the same for every piece.
  llvm::SmallVector<mlir::Value> load(mlir::Value depthFrom);
  llvm::SmallVector<mlir::Value> zeros();
  std::size_t slots() const { return slots_.size(); }
  // Puts what was loaded into the panel.
  void store(mlir::ValueRange loaded);

 private:
  // One access of this thread: `width_` neighbours.
  struct Slot {
    mlir::Value row, depth;                // in the panel
    mlir::Value isActive;                  // null: always
    llvm::SmallVector<mlir::Value> loops;  // of the factor's own loops
    mlir::Value isInside;                  // the row; null: always
  };

  std::int64_t widthOf(unsigned inner, bool alongDepth) const;
  bool decideOrder();
  void makeSlots();
  mlir::Type loadedType() const;
  std::uint64_t accessBytes() const;  // of one access

  const ProductLoops& nest_;
  PanelSource source_;
  BlockThread thread_;
  mlir::OpFoldResult rows_, depth_;  // extents in all
  bool alongDepth_ = false;          // neighbouring threads load neighbours along the depth
  std::int64_t width_ = 1;
  llvm::SmallVector<Slot> slots_;
  llvm::SmallVector<mlir::Value> batch_;
};

}  // namespace kiln::schedule
