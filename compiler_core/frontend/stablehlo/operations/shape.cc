// Constants, and what moves elements by numbers that the program states.
#include "compiler_core/frontend/stablehlo/operations/shape.h"

#include "compiler_core/frontend/graph/index_math.h"
#include "compiler_core/frontend/stablehlo/operations/operations.h"

namespace kiln::stablehlo {
namespace {

Result<Values> constant(OperationContext& op) {
  const Attribute* value = op.attribute("value");
  const auto* literal = value ? std::get_if<Literal>(&value->value) : nullptr;
  if (!literal) return invalid("attribute value is missing or is no tensor");
  KILN_ASSIGN(Value result, op.literal(*literal));
  return Values{result};
}

Result<Values> broadcastInDim(OperationContext& op) {
  if (op.isPointwise()) return Values{op.operand(0)};
  KILN_ASSIGN(const Dims shape, op.resultShape());
  KILN_ASSIGN(const Dims dims,
              op.dimensions("broadcast_dimensions", static_cast<std::int64_t>(shape.size())));
  KILN_ASSIGN(Value result, broadcastAlong(op, op.operand(0), dims, ir::toShape(shape)));
  return Values{result};
}

Result<Values> reshape(OperationContext& op) {
  if (op.isPointwise()) return Values{op.operand(0)};
  KILN_ASSIGN(const Dims shape, op.resultShape());
  KILN_ASSIGN(Value result, op.reshape(op.operand(0), shape));
  return Values{result};
}

Result<Values> transpose(OperationContext& op) {
  KILN_ASSIGN(const Dims permutation, op.list("permutation"));
  KILN_ASSIGN(Value result, op.transpose(op.operand(0), permutation));
  return Values{result};
}

Result<Values> slice(OperationContext& op) {
  const auto rank = static_cast<std::size_t>(rankOf(op.operand(0)));
  KILN_ASSIGN(const Dims starts, op.integers("start_indices", rank, 0));
  KILN_ASSIGN(const Dims limits, op.integers("limit_indices", rank, 0));
  KILN_ASSIGN(const Dims strides, op.integers("strides", rank, 1));
  KILN_ASSIGN(Value result,
              sliceBetween(op, op.operand(0), ir::toShape(starts), ir::toShape(limits), strides));
  return Values{result};
}

Result<Values> concatenate(OperationContext& op) {
  KILN_ASSIGN(const std::int64_t axis, op.dimension("dimension", rankOf(op.operand(0))));
  KILN_ASSIGN(Value result, op.concat(op.operands(), axis));
  return Values{result};
}

Result<Values> pad(OperationContext& op) {
  const auto rank = static_cast<std::size_t>(rankOf(op.operand(0)));
  KILN_ASSIGN(const Dims low, op.integers("edge_padding_low", rank, 0));
  KILN_ASSIGN(const Dims high, op.integers("edge_padding_high", rank, 0));
  KILN_ASSIGN(const Dims interior, op.integers("interior_padding", rank, 0));
  KILN_ASSIGN(Value result, padAny(op, op.operand(0), op.operand(1), low, high, interior));
  return Values{result};
}

Result<Values> reverse(OperationContext& op) {
  KILN_ASSIGN(const Dims dims, op.dimensions("dimensions", rankOf(op.operand(0))));
  KILN_ASSIGN(Value result, reversed(op, op.operand(0), dims));
  return Values{result};
}

Result<Values> iota(OperationContext& op) {
  KILN_ASSIGN(const Dims shape, op.resultShape());
  KILN_ASSIGN(const std::int64_t axis,
              op.dimension("iota_dimension", static_cast<std::int64_t>(shape.size())));
  KILN_ASSIGN(Value result, iotaOf(op, ir::toShape(shape), axis));
  return Values{result};
}

Result<Values> getDimensionSize(OperationContext& op) {
  KILN_ASSIGN(const std::int64_t dim, op.dimension("dimension", rankOf(op.operand(0))));
  KILN_ASSIGN(Value result, frontend::extentValue(op, dimsOf(op.operand(0))[dim]));
  KILN_ASSIGN(result, op.cast(result, op.resultElement()));
  return Values{result};
}

}  // namespace

Result<Value> broadcastAlong(OperationContext& op, Value input, llvm::ArrayRef<std::int64_t> dims,
                             llvm::ArrayRef<Dim> shape) {
  if (dims.size() != static_cast<std::size_t>(rankOf(input)))
    return invalid("broadcast_dimensions needs one entry for each dimension of the operand");
  // The operand's dimensions in the order in which the result has them, with ones between.
  Dims order = allDims(rankOf(input));
  Shape placed(shape.size(), Dim(1));
  llvm::sort(order, [&](std::int64_t a, std::int64_t b) { return dims[a] < dims[b]; });
  for (std::int64_t i = 0; i < rankOf(input); ++i) {
    const Dim extent = dimsOf(input)[i];
    placed[dims[i]] = extent;
    if (extent == Dim(1)) continue;
    KILN_TRY(sameExtents(op, extent, shape[dims[i]],
                         "cannot repeat " + op.describe(extent) + " to " + op.describe(shape[dims[i]])));
  }
  if (!llvm::is_sorted(dims)) {
    KILN_ASSIGN(input, op.transpose(input, order));
  }
  KILN_ASSIGN(input, op.reshape(input, placed));
  return op.broadcast(input, Shape(shape));
}

Result<Value> reversed(OperationContext& op, Value input, llvm::ArrayRef<std::int64_t> dims) {
  const Shape shape = dimsOf(input);
  Shape offsets(shape.size(), Dim(0));
  Dims strides(shape.size(), 1);
  if (isEmpty(shape) || dims.empty()) return input;
  for (std::int64_t dim : dims) {
    offsets[dim] = shape[dim] - 1;
    strides[dim] = -1;
  }
  return op.symbolicSlice(input, offsets, strides, shape);
}

Result<Value> iotaOf(OperationContext& op, llvm::ArrayRef<Dim> shape, std::int64_t axis) {
  const mlir::Type element = op.resultElement();
  // kiln.iota has no integers below a byte, which wrap.
  const bool isDirect = element.getIntOrFloatBitWidth() >= 8;
  KILN_ASSIGN(Value result, op.iota(isDirect ? element : op.i64(), Shape(shape), axis));
  return op.cast(result, element);
}

Result<Value> sliceBetween(OperationContext& op, Value input, llvm::ArrayRef<Dim> starts,
                           llvm::ArrayRef<Dim> limits, llvm::ArrayRef<std::int64_t> strides) {
  const Shape shape = dimsOf(input);
  Shape sizes;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    const std::string leaves = "the slice leaves dimension " + std::to_string(i);
    if (strides[i] < 1) return invalid(leaves);
    KILN_TRY(notBelow(op, starts[i], 0, leaves));
    KILN_TRY(notBelow(op, limits[i], starts[i], leaves));
    KILN_TRY(notBelow(op, shape[i], limits[i], leaves));
    sizes.push_back(*ir::ceilDiv(limits[i] - starts[i], strides[i]));
  }
  return op.symbolicSlice(input, starts, strides, sizes);
}

std::span<const Row> shapeRows() {
  static constexpr Row kRows[] = {
      {"broadcast_in_dim", broadcastInDim, 1, 0, false, true},
      {"concatenate", concatenate, 1, 0, false, true},
      {"constant", constant, 0, 0, true},
      {"get_dimension_size", getDimensionSize, 1, 0, false, true},
      {"iota", iota, 0},
      {"pad", pad, 2, 0, false, true},
      {"reshape", reshape, 1, 0, false, true},
      {"reverse", reverse, 1, 0, false, true},
      {"slice", slice, 1, 0, false, true},
      {"transpose", transpose, 1, 0, false, true},
  };
  return kRows;
}

}  // namespace kiln::stablehlo
