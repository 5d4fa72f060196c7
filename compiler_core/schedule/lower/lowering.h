// From the kiln dialect to linalg on tensors, one function per family of operations. Private to
// compiler_core/schedule. Tensors take the storage types of scalar.h. Every linalg operation carries
// `kiln.group`: operations of one group become one kernel where the schedule can.
#pragma once

#include <functional>

#include "compiler_core/ir/dims.h"
#include "compiler_core/ir/ir.h"
#include "compiler_core/ir/packed/packed_ops.h"
#include "compiler_core/schedule/analysis/packed_dot.h"
#include "compiler_core/schedule/lower/scalar.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/IR/IRMapping.h"

namespace kiln::schedule {

using Body = llvm::function_ref<mlir::Value(mlir::OpBuilder&, mlir::Location, mlir::ValueRange)>;

// A shape as an argument: numbers or Dims, in any container or braces.
class Extents {
 public:
  Extents(llvm::ArrayRef<std::int64_t> shape) : shape_(ir::toShape(shape)) {}                        // NOLINT
  Extents(const llvm::SmallVectorImpl<std::int64_t>& shape) : shape_(shape.begin(), shape.end()) {}  // NOLINT
  Extents(ir::Shape shape) : shape_(std::move(shape)) {}                                             // NOLINT
  Extents(std::initializer_list<ir::Dim> shape) : shape_(shape) {}                                   // NOLINT
  const ir::Shape& operator*() const { return shape_; }

 private:
  ir::Shape shape_;
};

class Lowering {
 public:
  // forDevice: for a target whose tensor cores multiply 16-bit floats. dots: the packed dot operands that a
  // processor multiplies.
  Lowering(mlir::OpBuilder& builder, bool forDevice = false, DotProducts dots = {})
      : b_(builder), forDevice_(forDevice), dots_(dots) {}

  // Lowers one operation (not kiln.weight, kiln.yield, func.return, nor those with bodies) and maps its
  // results.
  mlir::LogicalResult lower(mlir::Operation* op);

  // Lowers a body where the builder stands, its terminator left out.
  using LowerBlock = llvm::function_ref<mlir::LogicalResult(mlir::Block&)>;
  mlir::LogicalResult branch(ir::IfOp op, LowerBlock lowerBlock);
  mlir::LogicalResult loop(ir::LoopOp op, LowerBlock lowerBlock);

  // How a weight is had in another layout, with its dimensions permuted (none: as they are) or as dot
  // operands that pack `steps` elements along `axis`; without it, none is asked for.
  struct DotPacking {
    unsigned axis = 0;
    std::int64_t steps = 0;
  };
  using LayOutWeight = std::function<mlir::Value(
      ir::WeightOp weight, llvm::ArrayRef<std::int64_t> permutation, std::optional<DotPacking> dotPacking)>;
  void setWeightLayouts(LayOutWeight layOut) { layOutWeight_ = std::move(layOut); }

  // How an operation is had as a whole by a way to compute it (null: as operations of linalg); without it,
  // none is asked for.
  using LowerWhole = std::function<mlir::Value(mlir::Operation* op)>;
  void setWholeForms(LowerWhole lower) { lowerWhole_ = std::move(lower); }

  mlir::IRMapping& values() { return map_; }
  // `to` is `from` lowered.
  void map(mlir::Value from, mlir::Value to);
  void nextGroup() { ++group_; }
  // The value of symbol number `symbol`, of index type; sizes are made of these.
  void defineSymbol(unsigned symbol, mlir::Value value) { symbols_[symbol] = value; }
  // An extent where the builder stands, as an attribute or a value.
  mlir::OpFoldResult size(const ir::Dim& dim);
  llvm::SmallVector<mlir::OpFoldResult> sizes(llvm::ArrayRef<ir::Dim> shape);

  // Without the expressions of symbolic extents, which only types of the kiln dialect carry.
  static mlir::RankedTensorType convert(mlir::Type type);

  // What whole forms are made with, at the operation's location. get: a value of the kiln dialect as it was
  // lowered.
  mlir::Value get(mlir::Value value) { return map_.lookup(value); }
  mlir::Value empty(const Extents& shape, mlir::Type element);
  // Calls `function` of the kernel library; the results, one per init.
  mlir::ResultRange call(llvm::StringRef function, mlir::ValueRange inputs, mlir::ValueRange inits,
                         llvm::ArrayRef<std::int64_t> parameters,
                         llvm::ArrayRef<std::int64_t> readsInit = {});
  // An operand of a product, as it is multiplied after unpack(): on devices 16-bit codes where f32 was made
  // of them.
  struct Factor {
    mlir::Value value;
    mlir::Type element;   // of the graph level
    ir::WeightOp weight;  // null unless the codes are a weight as it is
  };
  Factor factor(mlir::Value value);
  // The same on processors, of a weight of 16 bits that is widened: its product reads the codes.
  std::optional<Factor> narrowWeight(mlir::Value value);

 private:
  void mapAll(mlir::ValueRange from, mlir::ValueRange to) {
    for (auto [a, b] : llvm::zip_equal(from, to)) map(a, b);
  }
  // For lowering control flow; `type` is of the kiln dialect.
  mlir::Value buffer(mlir::Type type);
  // `source` in the buffer of `destination`.
  mlir::Value place(mlir::Value source, mlir::Value destination);
  llvm::SmallVector<mlir::Value> placeAll(mlir::ValueRange values, mlir::ValueRange carried,
                                          mlir::Block* body);
  // The shape of a lowered value, with its expressions.
  ir::Shape shapeOf(mlir::Value lowered) const;
  mlir::Value shaped(mlir::Value lowered, llvm::ArrayRef<ir::Dim> shape);
  // Marks a linalg operation with its group and, where dynamic, its extents.
  void mark(mlir::linalg::LinalgOp op);

  // Building blocks, all at loc_.
  mlir::Value scalar(mlir::Type element, double value);
  mlir::Value fill(mlir::Value scalar, const Extents& shape);
  mlir::Value fill(mlir::Value scalar, mlir::RankedTensorType type);  // of static shape
  mlir::Value generic(mlir::ValueRange inputs, mlir::Value init, llvm::ArrayRef<mlir::AffineMap> maps,
                      unsigned reductions, Body body);
  // All operands and the result of one shape.
  mlir::Value pointwise(mlir::ValueRange inputs, mlir::RankedTensorType type, Body body);
  // `value` with `axes` of `shape` missing, along the identity of the others: a map for a broadcast operand.
  mlir::AffineMap dropping(unsigned rank, llvm::ArrayRef<std::int64_t> axes);
  mlir::Value reshape(mlir::Value value, const Extents& to);
  // Copies `source` into `destination` at `offsets`, to every steps[i]th position (1 if left empty), as a
  // kernel of its own.
  mlir::Value insert(mlir::Value source, mlir::Value destination, const Extents& offsets,
                     llvm::ArrayRef<std::int64_t> steps = {});
  // Spatial padding of [N, C, D...] with `value`; `pads` are all beginnings, then all ends.
  mlir::Value surround(mlir::Value input, llvm::ArrayRef<std::int64_t> pads, double value);
  // Reduction with `kind` over `axes`.
  mlir::Value reduce(ir::ReduceKind kind, mlir::Value input, llvm::ArrayRef<std::int64_t> axes);

  mlir::Value constant(ir::ConstantOp op);
  mlir::Value broadcast(ir::BroadcastOp op);
  mlir::Value transpose(mlir::Value input, llvm::ArrayRef<std::int64_t> permutation);
  mlir::Value concat(ir::ConcatOp op);
  mlir::Value slice(ir::SliceOp op);
  mlir::Value gather(ir::GatherOp op);
  mlir::Value shapeValue(ir::ShapeValueOp op);
  mlir::Value truncate(ir::TruncateOp op);
  mlir::Value iota(ir::IotaOp op);
  mlir::Value pad(ir::PadOp op);
  // Operations served by the kernel library; maps their results.
  mlir::LogicalResult library(mlir::Operation* op);
  void sort(ir::SortOp op);
  void argReduce(ir::ArgReduceOp op);
  void cumulative(ir::CumulativeOp op);
  void scatter(ir::ScatterOp op);
  void compress(ir::CompressOp op);
  void unique(ir::UniqueOp op);
  void nms(ir::NmsOp op);
  mlir::Value softmax(ir::SoftmaxOp op);
  // What a cast made `value` of, where `isWanted` says so of its elements.
  std::optional<Factor> beforeCast(mlir::Value value, llvm::function_ref<bool(mlir::Type)> isWanted);
  // Factors that are multiplied as dot operands, which pack `steps` steps of the sum.
  struct DotFactors {
    Factor left, right;
    std::int64_t steps;
    llvm::StringLiteral kind;  // of kiln.dot
  };
  std::optional<DotFactors> dotFactors(mlir::Value left, mlir::Value right);
  // `factor` as dot operands packed into i32 along `axis`, whose extent is known: the last one is filled up
  // with zeros. A kernel of its own, unless it is a weight.
  mlir::Value packedDotOperand(const Factor& factor, unsigned axis, std::int64_t steps);
  // A sliding window along one dimension; `before`: the padding at its beginning.
  struct WindowAxis {
    std::int64_t kernel, stride, dilation, before;
  };
  // The rows of each window of a padded [N, C, H, W] of bytes, at most as many as a packed operand has steps,
  // as [N, C, `windows`, W] of i32: part of the kernel that multiplies them.
  mlir::Value packedRows(mlir::Value input, const ir::Dim& windows, const WindowAxis& axis);
  // A sum over products of packed dot operands.
  mlir::Value dotProduct(mlir::Value left, mlir::Value right, mlir::Value init,
                         llvm::ArrayRef<mlir::AffineMap> maps, unsigned reductions, llvm::StringRef kind);
  // sum + left . right of one packed operand each: v = {left, right, sum}.
  static mlir::Value dotStep(mlir::OpBuilder& b, mlir::Location loc, llvm::StringRef kind,
                             mlir::ValueRange v);
  mlir::Value matmul(ir::MatmulOp op);
  // A product with a packed matrix, whose elements are made in registers (lower/packed.cc).
  mlir::Value packedProduct(ir::MatmulOp op, ir::DequantiseOp matrix);
  // The packed matrix by itself.
  mlir::Value dequantise(ir::DequantiseOp op);
  mlir::Value attention(ir::AttentionOp op);
  mlir::Value convolution(ir::ConvOp op);
  mlir::Value pool(ir::PoolOp op);
  // How many positions of each of `windows` windows lie inside an input of `extent`: a vector of `element`s.
  mlir::Value insideCounts(const WindowAxis& axis, const ir::Dim& windows, const ir::Dim& extent,
                           mlir::Type element);
  mlir::Value batchNorm(ir::BatchNormOp op);

  mlir::OpBuilder& b_;
  bool forDevice_;
  DotProducts dots_;
  LayOutWeight layOutWeight_;
  LowerWhole lowerWhole_;
  mlir::Location loc_ = b_.getUnknownLoc();
  mlir::IRMapping map_;
  llvm::DenseMap<mlir::Value, ir::Shape> shapes_;  // of lowered values with symbolic extents
  llvm::DenseMap<unsigned, mlir::Value> symbols_;
  llvm::DenseMap<std::pair<mlir::Value, unsigned>, mlir::Value> packedOperands_;  // by codes and axis
  std::int64_t group_ = -1;
};

}  // namespace kiln::schedule
