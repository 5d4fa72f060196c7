// Operations whose shapes are operands. They are served where these are known at compile time; the result's
// type is.
#include "compiler_core/frontend/stablehlo/operations/operations.h"
#include "compiler_core/frontend/stablehlo/operations/shape.h"

namespace kiln::stablehlo {
namespace {

Result<Dims> known(OperationContext& op, std::size_t operand, std::string_view what, std::size_t count) {
  auto values = frontend::GraphBuilder::constantIntegers(op.operand(operand));
  if (!values) return frontend::GraphBuilder::notConstant(what, op.operand(operand));
  if (values->size() != count)
    return invalid(std::string(what) + " have " + std::to_string(values->size()) + " entries, " +
                   std::to_string(count) + " are needed");
  return *values;
}

Result<Values> dynamicBroadcast(OperationContext& op) {
  const Dims shape = op.resultShape();
  KILN_TRY(known(op, 1, "the result's extents", shape.size()));
  KILN_ASSIGN(const Dims dims,
              op.dimensions("broadcast_dimensions", static_cast<std::int64_t>(shape.size())));
  KILN_ASSIGN(Value result, broadcastAlong(op, op.operand(0), dims, shape));
  return Values{result};
}

Result<Values> dynamicReshape(OperationContext& op) {
  KILN_TRY(known(op, 1, "the result's extents", op.resultShape().size()));
  KILN_ASSIGN(Value result, op.reshape(op.operand(0), op.resultShape()));
  return Values{result};
}

Result<Values> dynamicIota(OperationContext& op) {
  const Dims shape = op.resultShape();
  KILN_TRY(known(op, 0, "the result's extents", shape.size()));
  KILN_ASSIGN(const std::int64_t axis,
              op.dimension("iota_dimension", static_cast<std::int64_t>(shape.size())));
  KILN_ASSIGN(Value result, iotaOf(op, shape, axis));
  return Values{result};
}

Result<Values> dynamicPad(OperationContext& op) {
  const auto rank = static_cast<std::size_t>(rankOf(op.operand(0)));
  KILN_ASSIGN(const Dims low, known(op, 2, "the amounts of padding", rank));
  KILN_ASSIGN(const Dims high, known(op, 3, "the amounts of padding", rank));
  KILN_ASSIGN(const Dims interior, known(op, 4, "the amounts of padding", rank));
  for (std::size_t i = 0; i < rank; ++i)
    if (interior[i] < 0) return invalid("negative padding between elements");
  KILN_ASSIGN(Value result, padAny(op, op.operand(0), op.operand(1), low, high, interior));
  return Values{result};
}

Result<Values> realDynamicSlice(OperationContext& op) {
  const Dims shape(shapeOf(op.operand(0)));
  KILN_ASSIGN(const Dims starts, known(op, 1, "the starts of a slice", shape.size()));
  KILN_ASSIGN(const Dims limits, known(op, 2, "the ends of a slice", shape.size()));
  KILN_ASSIGN(const Dims strides, known(op, 3, "the strides of a slice", shape.size()));
  Dims sizes;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (starts[i] < 0 || limits[i] < starts[i] || limits[i] > shape[i] || strides[i] < 1)
      return invalid("the slice leaves dimension " + std::to_string(i));
    sizes.push_back((limits[i] - starts[i] + strides[i] - 1) / strides[i]);
  }
  KILN_ASSIGN(Value result, op.slice(op.operand(0), starts, strides, sizes));
  return Values{result};
}

}  // namespace

std::span<const Row> dynamicRows() {
  static constexpr Row kRows[] = {
      {"dynamic_broadcast_in_dim", dynamicBroadcast, 2},
      {"dynamic_iota", dynamicIota, 1},
      {"dynamic_pad", dynamicPad, 5},
      {"dynamic_reshape", dynamicReshape, 2},
      {"real_dynamic_slice", realDynamicSlice, 4},
  };
  return kRows;
}

}  // namespace kiln::stablehlo
