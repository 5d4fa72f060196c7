// From the kiln dialect to linalg on tensors, one function per family of operations. Private to
// compiler_core/schedule. i1 tensors become i8 (0 or 1): vectors of i1 are packed bits in memory, tensors of
// the ABI are bytes. Every linalg operation carries `kiln.group`: operations of one group become one kernel
// where the schedule can.
#pragma once

#include "compiler_core/ir/ir.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/IR/IRMapping.h"

namespace kiln::schedule {

// Attributes between the passes of this folder.
inline constexpr llvm::StringLiteral kGroupAttr =
    "kiln.group";  // on linalg operations: which kernel they belong to
inline constexpr llvm::StringLiteral kKernelAttr =
    "kiln.kernel";  // on scf.forall: the kernel's schedule, a dictionary

using Body = llvm::function_ref<mlir::Value(mlir::OpBuilder&, mlir::Location, mlir::ValueRange)>;

class Lowering {
 public:
  Lowering(mlir::OpBuilder& builder) : b_(builder) {}

  // Lowers one operation (not kiln.weight, kiln.yield, func.return, nor those with bodies) and maps its
  // results.
  mlir::LogicalResult lower(mlir::Operation* op);

  // Lowers a body where the builder stands, its terminator left out.
  using LowerBlock = llvm::function_ref<mlir::LogicalResult(mlir::Block&)>;
  mlir::LogicalResult branch(ir::IfOp op, LowerBlock lowerBlock);
  mlir::LogicalResult loop(ir::LoopOp op, LowerBlock lowerBlock);

  mlir::IRMapping& values() { return map_; }
  void nextGroup() { ++group_; }

  static mlir::RankedTensorType convert(mlir::Type type);

 private:
  mlir::Value get(mlir::Value value) { return map_.lookup(value); }

  // Building blocks, all at loc_.
  mlir::Value empty(llvm::ArrayRef<std::int64_t> shape, mlir::Type element);
  mlir::Value scalar(mlir::Type element, double value);
  mlir::Value fill(mlir::Value scalar, mlir::RankedTensorType type);
  mlir::Value generic(mlir::ValueRange inputs, mlir::Value init, llvm::ArrayRef<mlir::AffineMap> maps,
                      unsigned reductions, Body body);
  // All operands and the result of one shape.
  mlir::Value pointwise(mlir::ValueRange inputs, mlir::RankedTensorType type, Body body);
  // `value` with `axes` of `shape` missing, along the identity of the others: a map for a broadcast operand.
  mlir::AffineMap dropping(unsigned rank, llvm::ArrayRef<std::int64_t> axes);
  mlir::Value reshape(mlir::Value value, llvm::ArrayRef<std::int64_t> shape);
  // Copies `source` into `destination` at `offsets`, as a kernel of its own.
  mlir::Value insert(mlir::Value source, mlir::Value destination, llvm::ArrayRef<std::int64_t> offsets);
  // Spatial padding [top, left, bottom, right] of NCHW with `value`.
  mlir::Value pad(mlir::Value input, llvm::ArrayRef<std::int64_t> pads, double value);
  // Reduction with `kind` over `axes`.
  mlir::Value reduce(ir::ReduceKind kind, mlir::Value input, llvm::ArrayRef<std::int64_t> axes);

  mlir::Value constant(ir::ConstantOp op);
  mlir::Value broadcast(ir::BroadcastOp op);
  mlir::Value transpose(mlir::Value input, llvm::ArrayRef<std::int64_t> permutation);
  mlir::Value concat(ir::ConcatOp op);
  mlir::Value slice(ir::SliceOp op);
  mlir::Value gather(ir::GatherOp op);
  // Operations served by the kernel library; maps their results.
  mlir::LogicalResult library(mlir::Operation* op);
  void sort(ir::SortOp op);
  void argReduce(ir::ArgReduceOp op);
  void cumulative(ir::CumulativeOp op);
  void scatter(ir::ScatterOp op);
  void compress(ir::CompressOp op);
  void unique(ir::UniqueOp op);
  void nms(ir::NmsOp op);
  // Calls `function` of the kernel library; the results, one per init.
  mlir::ResultRange call(llvm::StringRef function, mlir::ValueRange inputs, mlir::ValueRange inits,
                         llvm::ArrayRef<std::int64_t> parameters,
                         llvm::ArrayRef<std::int64_t> readsInit = {});
  mlir::Value softmax(ir::SoftmaxOp op);
  mlir::Value matmul(ir::MatmulOp op);
  mlir::Value convolution(ir::ConvOp op);
  mlir::Value pool(ir::PoolOp op);
  mlir::Value batchNorm(ir::BatchNormOp op);

  mlir::OpBuilder& b_;
  mlir::Location loc_ = b_.getUnknownLoc();
  mlir::IRMapping map_;
  std::int64_t group_ = -1;
};

// The scalar rules: what one element of each elementwise operation is. `x`, `y` are of the original element
// types, but i1 arrives and leaves as i8.
mlir::Value unaryScalar(mlir::OpBuilder& b, mlir::Location loc, ir::UnaryKind kind, mlir::Value x);
mlir::Value binaryScalar(mlir::OpBuilder& b, mlir::Location loc, ir::BinaryKind kind, mlir::Value x,
                         mlir::Value y);
mlir::Value compareScalar(mlir::OpBuilder& b, mlir::Location loc, ir::CompareKind kind, mlir::Value x,
                          mlir::Value y);
mlir::Value castScalar(mlir::OpBuilder& b, mlir::Location loc, mlir::Value x, mlir::Type from, mlir::Type to);
// A number of type `element`; infinities become the extreme values of integers.
mlir::Value numberOf(mlir::OpBuilder& b, mlir::Location loc, mlir::Type element, double value);

}  // namespace kiln::schedule
