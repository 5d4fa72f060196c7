// Operations whose shapes are operands: numbers, or sizes that follow from the extents of the inputs.
#include "compiler_core/frontend/graph/symbolic_values.h"
#include "compiler_core/frontend/stablehlo/operations/indexing.h"
#include "compiler_core/frontend/stablehlo/operations/operations.h"
#include "compiler_core/frontend/stablehlo/operations/shape.h"

namespace kiln::stablehlo {
namespace {

Result<Dims> known(OperationContext& op, std::size_t operand, std::string_view what, std::size_t count) {
  KILN_ASSIGN(const Shape sizes, sizesIn(op, operand, what, count));
  if (!ir::isStatic(sizes)) return op.undecided(std::string(what) + " (" + op.describe(sizes) + ")");
  return ir::numbers(sizes);
}

// The extents of the result, as many as it has.
Result<Shape> resultExtents(OperationContext& op, std::size_t operand) {
  constexpr std::string_view kWhat = "the result's extents";
  KILN_ASSIGN(Shape shape, sizesIn(op, operand, kWhat, op.resultType().shape.size()));
  for (const Dim& extent : shape) KILN_TRY(notBelow(op, extent, 0, "an extent is negative"));
  return shape;
}

Result<Values> dynamicBroadcast(OperationContext& op) {
  KILN_ASSIGN(const Shape shape, resultExtents(op, 1));
  KILN_ASSIGN(const Dims dims,
              op.dimensions("broadcast_dimensions", static_cast<std::int64_t>(shape.size())));
  KILN_ASSIGN(Value result, broadcastAlong(op, op.operand(0), dims, shape));
  return Values{result};
}

Result<Values> dynamicReshape(OperationContext& op) {
  KILN_ASSIGN(const Shape shape, resultExtents(op, 1));
  const Shape given = dimsOf(op.operand(0));
  KILN_TRY(
      sameExtents(op, ir::product(given), ir::product(shape), "a reshape changes the number of elements"));
  KILN_ASSIGN(Value result, op.reshape(op.operand(0), shape));
  return Values{result};
}

Result<Values> dynamicIota(OperationContext& op) {
  KILN_ASSIGN(const Shape shape, resultExtents(op, 0));
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

// A slice of known length that begins where a run says. It lies inside, or its result is the
// implementation's.
Result<Value> sliceFrom(OperationContext& op, llvm::ArrayRef<Dim> lengths, const Dims& strides) {
  const Shape shape = dimsOf(op.operand(0));
  Shape sizes, spans;
  Values starts;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (strides[i] < 1) return invalid("strides are 1 or more");
    sizes.push_back(*ir::ceilDiv(lengths[i], strides[i]));
    spans.push_back((sizes[i] - 1) * Dim(strides[i]) + 1);
    KILN_ASSIGN(Value start, sliceAlong(op, op.operand(1), 0, static_cast<std::int64_t>(i), 1));
    KILN_ASSIGN(start, op.reshape(start, Shape()));
    starts.push_back(start);
  }
  KILN_ASSIGN(starts, clampedStarts(op, starts, shape, spans));
  return windowAt(op, op.operand(0), starts, sizes, strides);
}

Result<Values> realDynamicSlice(OperationContext& op) {
  const auto rank = static_cast<std::size_t>(rankOf(op.operand(0)));
  if (!frontend::GraphBuilder::symbolicIntegers(op.operand(1))) {
    const auto lengths = frontend::symbolicDifference(op.operand(2), op.operand(1));
    if (lengths && lengths->size() == rank) {
      KILN_ASSIGN(const Dims strides, known(op, 3, "the strides of a slice", rank));
      KILN_ASSIGN(Value result, sliceFrom(op, *lengths, strides));
      return Values{result};
    }
  }
  KILN_ASSIGN(const Shape starts, sizesIn(op, 1, "the starts of a slice", rank));
  KILN_ASSIGN(const Shape limits, sizesIn(op, 2, "the ends of a slice", rank));
  KILN_ASSIGN(const Dims strides, known(op, 3, "the strides of a slice", rank));
  KILN_ASSIGN(Value result, sliceBetween(op, op.operand(0), starts, limits, strides));
  return Values{result};
}

}  // namespace

Result<Shape> sizesIn(OperationContext& op, std::size_t operand, std::string_view what, std::size_t count) {
  auto values = frontend::GraphBuilder::symbolicIntegers(op.operand(operand));
  if (!values) return frontend::GraphBuilder::notConstant(what, op.operand(operand));
  if (values->size() != count)
    return invalid(std::string(what) + " have " + std::to_string(values->size()) + " entries, " +
                   std::to_string(count) + " are needed");
  return *values;
}

std::span<const Row> dynamicRows() {
  static constexpr Row kRows[] = {
      {"dynamic_broadcast_in_dim", dynamicBroadcast, 2, 0, false, true},
      {"dynamic_iota", dynamicIota, 1, 0, false, true},
      {"dynamic_pad", dynamicPad, 5, 0, false, true},
      {"dynamic_reshape", dynamicReshape, 2, 0, false, true},
      {"real_dynamic_slice", realDynamicSlice, 4, 0, false, true},
  };
  return kRows;
}

}  // namespace kiln::stablehlo
