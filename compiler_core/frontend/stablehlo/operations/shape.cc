// Constants, and what moves elements by numbers that the program states.
#include "compiler_core/frontend/stablehlo/operations/shape.h"
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
  const auto rank = static_cast<std::int64_t>(op.resultShape().size());
  KILN_ASSIGN(const Dims dims, op.dimensions("broadcast_dimensions", rank));
  KILN_ASSIGN(Value result, broadcastAlong(op, op.operand(0), dims, op.resultShape()));
  return Values{result};
}

Result<Values> reshape(OperationContext& op) {
  if (op.isPointwise()) return Values{op.operand(0)};
  KILN_ASSIGN(Value result, op.reshape(op.operand(0), op.resultShape()));
  return Values{result};
}

Result<Values> transpose(OperationContext& op) {
  KILN_ASSIGN(const Dims permutation, op.list("permutation"));
  KILN_ASSIGN(Value result, op.transpose(op.operand(0), permutation));
  return Values{result};
}

Result<Values> slice(OperationContext& op) {
  const Dims shape(shapeOf(op.operand(0)));
  const std::size_t rank = shape.size();
  KILN_ASSIGN(const Dims starts, op.integers("start_indices", rank, 0));
  KILN_ASSIGN(const Dims limits, op.integers("limit_indices", rank, 0));
  KILN_ASSIGN(const Dims strides, op.integers("strides", rank, 1));
  Dims sizes;
  for (std::size_t i = 0; i < rank; ++i) {
    if (starts[i] < 0 || limits[i] < starts[i] || limits[i] > shape[i] || strides[i] < 1)
      return invalid("the slice leaves dimension " + std::to_string(i));
    sizes.push_back((limits[i] - starts[i] + strides[i] - 1) / strides[i]);
  }
  KILN_ASSIGN(Value result, op.slice(op.operand(0), starts, strides, sizes));
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
  const Dims shape = op.resultShape();
  KILN_ASSIGN(const std::int64_t axis,
              op.dimension("iota_dimension", static_cast<std::int64_t>(shape.size())));
  KILN_ASSIGN(Value result, iotaOf(op, shape, axis));
  return Values{result};
}

Result<Values> getDimensionSize(OperationContext& op) {
  KILN_ASSIGN(const std::int64_t dim, op.dimension("dimension", rankOf(op.operand(0))));
  KILN_ASSIGN(Value result, op.cast(op.longScalar(shapeOf(op.operand(0))[dim]), op.resultElement()));
  return Values{result};
}

}  // namespace

Result<Value> broadcastAlong(OperationContext& op, Value input, llvm::ArrayRef<std::int64_t> dims,
                             llvm::ArrayRef<std::int64_t> shape) {
  if (dims.size() != static_cast<std::size_t>(rankOf(input)))
    return invalid("broadcast_dimensions needs one entry for each dimension of the operand");
  // The operand's dimensions in the order in which the result has them, with ones between.
  Dims order = allDims(rankOf(input)), placed(shape.size(), 1);
  llvm::sort(order, [&](std::int64_t a, std::int64_t b) { return dims[a] < dims[b]; });
  for (std::int64_t i = 0; i < rankOf(input); ++i) placed[dims[i]] = shapeOf(input)[i];
  if (!llvm::is_sorted(dims)) {
    KILN_ASSIGN(input, op.transpose(input, order));
  }
  KILN_ASSIGN(input, op.reshape(input, placed));
  return op.broadcast(input, shape);
}

Result<Value> reversed(OperationContext& op, Value input, llvm::ArrayRef<std::int64_t> dims) {
  const Dims shape(shapeOf(input));
  Dims offsets(shape.size(), 0), strides(shape.size(), 1);
  if (elementsOf(shape) == 0 || dims.empty()) return input;
  for (std::int64_t dim : dims) {
    offsets[dim] = shape[dim] - 1;
    strides[dim] = -1;
  }
  return op.slice(input, offsets, strides, shape);
}

Result<Value> iotaOf(OperationContext& op, llvm::ArrayRef<std::int64_t> shape, std::int64_t axis) {
  const mlir::Type element = op.resultElement();
  // kiln.iota has no integers below a byte, which wrap.
  const bool isDirect = element.getIntOrFloatBitWidth() >= 8;
  KILN_ASSIGN(Value result, op.iota(isDirect ? element : op.i64(), Dims(shape), axis));
  return op.cast(result, element);
}

std::span<const Row> shapeRows() {
  static constexpr Row kRows[] = {
      {"broadcast_in_dim", broadcastInDim, 1},
      {"concatenate", concatenate, 1},
      {"constant", constant, 0, 0, true},
      {"get_dimension_size", getDimensionSize, 1},
      {"iota", iota, 0},
      {"pad", pad, 2},
      {"reshape", reshape, 1},
      {"reverse", reverse, 1},
      {"slice", slice, 1},
      {"transpose", transpose, 1},
  };
  return kRows;
}

}  // namespace kiln::stablehlo
