// Result types that follow from operands and attributes. The verifier of these operations is "the inferred
// type is the type given", so every shape rule is stated once, here.
#include <numeric>

#include "compiler_core/ir/ir.h"
#include "compiler_core/ir/types.h"

namespace kiln::ir {
namespace {

using mlir::failure;
using mlir::LogicalResult;
using mlir::success;
using Types = llvm::SmallVectorImpl<mlir::Type>;
using Loc = std::optional<mlir::Location>;
constexpr std::int64_t kMaxExtent = std::int64_t{1} << 40;

LogicalResult done(Types& types, llvm::ArrayRef<std::int64_t> shape, mlir::Type element) {
  types.push_back(mlir::RankedTensorType::get(shape, element));
  return success();
}

LogicalResult error(Loc location, const llvm::Twine& message) {
  return mlir::emitOptionalError(location, message);
}

// Extent of a sliding window's result, or failure: the window must fit and every number be small enough to
// calculate with.
LogicalResult slide(Loc location, llvm::StringRef dim, std::int64_t input, std::int64_t kernel,
                    std::int64_t stride, std::int64_t before, std::int64_t after, std::int64_t dilation,
                    std::int64_t& result) {
  for (std::int64_t value : {kernel, stride, dilation})
    if (value < 1 || value > kMaxExtent)
      return error(location, dim + ": kernel, stride and dilation are 1 or more");
  if (before < 0 || after < 0 || before > kMaxExtent || after > kMaxExtent || input > kMaxExtent)
    return error(location, dim + ": negative or absurd padding");
  if (kernel - 1 > kMaxExtent / dilation) return error(location, dim + ": absurd window");
  std::int64_t window = (kernel - 1) * dilation + 1, padded = input + before + after;
  if (window > padded)
    return error(location, dim + ": window of " + llvm::Twine(window) + " exceeds the padded input of " +
                               llvm::Twine(padded));
  result = (padded - window) / stride + 1;
  return success();
}

}  // namespace

LogicalResult CompareOp::inferReturnTypes(mlir::MLIRContext* context, Loc, Adaptor adaptor, Types& types) {
  return done(types, tensorType(adaptor.getLhs()).getShape(), mlir::IntegerType::get(context, 1));
}

LogicalResult TransposeOp::inferReturnTypes(mlir::MLIRContext*, Loc location, Adaptor adaptor, Types& types) {
  auto input = tensorType(adaptor.getInput());
  auto permutation = adaptor.getPermutation();
  if (static_cast<std::int64_t>(permutation.size()) != input.getRank())
    return error(location, "permutation of " + llvm::Twine(permutation.size()) + " for rank " +
                               llvm::Twine(input.getRank()));
  llvm::SmallVector<bool> seen(permutation.size());
  llvm::SmallVector<std::int64_t> shape;
  for (std::int64_t dim : permutation) {
    if (dim < 0 || dim >= input.getRank() || std::exchange(seen[dim], true))
      return error(location, "not a permutation");
    shape.push_back(input.getDimSize(dim));
  }
  return done(types, shape, input.getElementType());
}

LogicalResult ConcatOp::inferReturnTypes(mlir::MLIRContext*, Loc location, Adaptor adaptor, Types& types) {
  if (adaptor.getInputs().empty()) return error(location, "concat of nothing");
  auto first = tensorType(adaptor.getInputs().front());
  auto axis = static_cast<std::int64_t>(adaptor.getAxis());
  if (axis >= first.getRank()) return error(location, "axis outside the rank");
  llvm::SmallVector<std::int64_t> shape(first.getShape());
  shape[axis] = 0;
  for (mlir::Value value : adaptor.getInputs()) {
    auto type = tensorType(value);
    if (type.getRank() != first.getRank() || type.getElementType() != first.getElementType())
      return error(location, "inputs differ in rank or element type");
    for (std::int64_t dim = 0; dim < first.getRank(); ++dim)
      if (dim != axis && type.getDimSize(dim) != shape[dim])
        return error(location, "inputs differ in dimension " + llvm::Twine(dim));
    if (type.getDimSize(axis) > kMaxExtent - shape[axis]) return error(location, "absurd extent");
    shape[axis] += type.getDimSize(axis);
  }
  return done(types, shape, first.getElementType());
}

LogicalResult GatherOp::inferReturnTypes(mlir::MLIRContext*, Loc location, Adaptor adaptor, Types& types) {
  auto input = tensorType(adaptor.getInput()), indices = tensorType(adaptor.getIndices());
  auto axis = static_cast<std::int64_t>(adaptor.getAxis());
  if (axis >= input.getRank()) return error(location, "axis outside the rank");
  if (input.getDimSize(axis) == 0) return error(location, "gather from an empty dimension");
  llvm::SmallVector<std::int64_t> shape(input.getShape().take_front(axis));
  llvm::append_range(shape, indices.getShape());
  llvm::append_range(shape, input.getShape().drop_front(axis + 1));
  return done(types, shape, input.getElementType());
}

LogicalResult ReduceOp::inferReturnTypes(mlir::MLIRContext*, Loc location, Adaptor adaptor, Types& types) {
  auto input = tensorType(adaptor.getInput());
  auto axes = adaptor.getAxes();
  for (std::size_t i = 0; i < axes.size(); ++i)
    if (axes[i] < 0 || axes[i] >= input.getRank() || (i && axes[i] <= axes[i - 1]))
      return error(location, "axes must be sorted, distinct and inside the rank");
  llvm::SmallVector<std::int64_t> shape;
  for (std::int64_t dim = 0; dim < input.getRank(); ++dim)
    if (!llvm::is_contained(axes, dim)) shape.push_back(input.getDimSize(dim));
  return done(types, shape, input.getElementType());
}

LogicalResult MatmulOp::inferReturnTypes(mlir::MLIRContext*, Loc location, Adaptor adaptor, Types& types) {
  auto lhs = tensorType(adaptor.getLhs()), rhs = tensorType(adaptor.getRhs());
  auto rank = lhs.getRank();
  if (rank < 2 || rhs.getRank() != rank || lhs.getElementType() != rhs.getElementType())
    return error(location, "operands need one element type and one rank of 2 or more");
  if (lhs.getShape().drop_back(2) != rhs.getShape().drop_back(2))
    return error(location, "batch dimensions differ");
  if (lhs.getDimSize(rank - 1) != rhs.getDimSize(rank - 2))
    return error(location, "inner dimensions differ: " + llvm::Twine(lhs.getDimSize(rank - 1)) + " and " +
                               llvm::Twine(rhs.getDimSize(rank - 2)));
  llvm::SmallVector<std::int64_t> shape(lhs.getShape());
  shape[rank - 1] = rhs.getDimSize(rank - 1);
  return done(types, shape, lhs.getElementType());
}

LogicalResult Conv2dOp::inferReturnTypes(mlir::MLIRContext*, Loc location, Adaptor adaptor, Types& types) {
  auto input = tensorType(adaptor.getInput()), filter = tensorType(adaptor.getFilter());
  auto strides = adaptor.getStrides(), pads = adaptor.getPads(), dilations = adaptor.getDilations();
  auto group = static_cast<std::int64_t>(adaptor.getGroup());
  if (input.getRank() != 4 || filter.getRank() != 4) return error(location, "input and filter have rank 4");
  if (strides.size() != 2 || pads.size() != 4 || dilations.size() != 2)
    return error(location, "2 strides, 4 pads and 2 dilations are needed");
  if (input.getElementType() != filter.getElementType()) return error(location, "element types differ");
  std::int64_t channels = input.getDimSize(1), outputs = filter.getDimSize(0);
  if (group < 1 || channels % group || outputs % group || channels / group != filter.getDimSize(1))
    return error(location, "channels " + llvm::Twine(channels) + ", filter " + llvm::Twine(outputs) + "x" +
                               llvm::Twine(filter.getDimSize(1)) + " and group " + llvm::Twine(group) +
                               " do not agree");
  if (auto bias = adaptor.getBias())
    if (tensorType(bias) != mlir::RankedTensorType::get({outputs}, input.getElementType()))
      return error(location, "bias must hold one element per output channel");
  std::int64_t height = 0, width = 0;
  if (failed(slide(location, "height", input.getDimSize(2), filter.getDimSize(2), strides[0], pads[0],
                   pads[2], dilations[0], height)) ||
      failed(slide(location, "width", input.getDimSize(3), filter.getDimSize(3), strides[1], pads[1], pads[3],
                   dilations[1], width)))
    return failure();
  return done(types, {input.getDimSize(0), outputs, height, width}, input.getElementType());
}

LogicalResult Pool2dOp::inferReturnTypes(mlir::MLIRContext*, Loc location, Adaptor adaptor, Types& types) {
  auto input = tensorType(adaptor.getInput());
  auto kernel = adaptor.getKernel(), strides = adaptor.getStrides(), pads = adaptor.getPads(),
       dilations = adaptor.getDilations();
  if (input.getRank() != 4) return error(location, "input has rank 4");
  if (kernel.size() != 2 || strides.size() != 2 || pads.size() != 4 || dilations.size() != 2)
    return error(location, "2 kernel extents, 2 strides, 4 pads and 2 dilations are needed");
  std::int64_t height = 0, width = 0;
  if (failed(slide(location, "height", input.getDimSize(2), kernel[0], strides[0], pads[0], pads[2],
                   dilations[0], height)) ||
      failed(slide(location, "width", input.getDimSize(3), kernel[1], strides[1], pads[1], pads[3],
                   dilations[1], width)))
    return failure();
  return done(types, {input.getDimSize(0), input.getDimSize(1), height, width}, input.getElementType());
}

}  // namespace kiln::ir
