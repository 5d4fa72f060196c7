// sort and chlo.top_k.
#include "compiler_core/frontend/stablehlo/operations/sort.h"
#include "compiler_core/frontend/graph/index_math.h"
#include "compiler_core/frontend/stablehlo/operations/comparator.h"
#include "compiler_core/frontend/stablehlo/operations/elementwise.h"
#include "compiler_core/frontend/stablehlo/operations/operations.h"

namespace kiln::stablehlo {
namespace {

// result[..., i, ...] = value[..., places[..., i, ...], ...] along `axis`.
Result<Value> takeAlong(OperationContext& op, Value value, Value places, std::int64_t axis) {
  if (rankOf(value) == 1) return op.gather(value, places, 0);
  const Shape shape = dimsOf(value);
  Values coordinates;
  for (std::int64_t dim = 0; dim < rankOf(value); ++dim) {
    if (dim == axis) {
      coordinates.push_back(places);
      continue;
    }
    Shape along(shape.size(), Dim(1));
    along[dim] = shape[dim];
    KILN_ASSIGN(Value coordinate, op.iota(op.i64(), along, dim));
    coordinates.push_back(coordinate);
  }
  KILN_ASSIGN(Value flat, frontend::flatPosition(op, coordinates, shape));
  KILN_ASSIGN(Value row, op.reshape(value, {ir::product(shape)}));
  return op.gather(row, flat, 0);
}

// What kiln.sort orders as the key asks for.
Result<Value> orderable(OperationContext& op, Value key, bool isTotalOrder) {
  if (isFloat(key)) return isTotalOrder ? totalOrderKey(op, key) : Result<Value>(key);
  const mlir::Type element = elementOf(key);
  if (element.getIntOrFloatBitWidth() >= 8) return key;
  const bool isSigned = element.isSignlessInteger() && !element.isInteger(1);
  return op.cast(
      key, mlir::IntegerType::get(op.context(), 8,
                                  isSigned ? mlir::IntegerType::Signless : mlir::IntegerType::Unsigned));
}

// From which position each element of the sorted order comes: the least significant key first, since sorts
// are stable.
Result<Value> orderByKeys(OperationContext& op, std::vector<SortKey> keys, std::int64_t axis) {
  // The comparator with every key as its result, each operand in place of both elements of a pair.
  Region maker = op.region(0);
  maker.operations.back().operands.clear();
  for (const SortKey& key : keys) maker.operations.back().operands.push_back(key.value);
  Values arguments;
  for (Value operand : op.operands()) arguments.append({operand, operand});
  KILN_ASSIGN(Values made, op.runPointwise(maker, arguments, dimsOf(op.operand(0))));
  Value order;
  for (std::size_t i = keys.size(); i-- > 0;) {
    KILN_ASSIGN(Value key, orderable(op, made[i], keys[i].isTotalOrder));
    if (order) {
      KILN_ASSIGN(key, takeAlong(op, key, order, axis));
    }
    KILN_ASSIGN(Values sorted, op.sort(key, axis, keys[i].isDescending));
    if (!order) {
      order = sorted[1];
      continue;
    }
    KILN_ASSIGN(order, takeAlong(op, order, sorted[1], axis));
  }
  return order;
}

// By any comparator: every element is compared with every other; where it ends is how many come before it.
Result<Value> orderByRanks(OperationContext& op, std::int64_t axis) {
  if (!ir::isStatic(dimsOf(op.operand(0))))
    return unserved(
        "a sort by a comparator that is none of the known ones, of a size that only a run gives, "
        "is not served");
  const Dims shape(shapeOf(op.operand(0)));
  const std::int64_t length = shape[axis];
  constexpr std::int64_t kMaxPairs = std::int64_t{1} << 24;
  if (length > 4096 || elementsOf(shape) > kMaxPairs / length)
    return unserved("a sort of " + std::to_string(length) +
                    " elements by a comparator that is none of the known "
                    "ones is not served");
  // The other element of a pair lies along one more dimension, behind all.
  Dims mine(shape), other(shape), pairs(shape);
  mine.push_back(1);
  other[axis] = 1;
  other.push_back(length);
  pairs.push_back(length);
  Dims swap = allDims(static_cast<std::int64_t>(shape.size()) + 1);
  std::swap(swap[axis], swap.back());
  Values forward, backward;
  for (Value operand : op.operands()) {
    KILN_ASSIGN(Value a, op.reshape(operand, mine));
    KILN_ASSIGN(Value b, op.transpose(a, swap));
    KILN_ASSIGN(a, op.broadcast(a, pairs));
    KILN_ASSIGN(b, op.broadcast(b, pairs));
    forward.append({b, a});
    backward.append({a, b});
  }
  KILN_ASSIGN(Values before, op.runPointwise(op.region(0), forward, ir::toShape(pairs)));
  KILN_ASSIGN(Values behind, op.runPointwise(op.region(0), backward, ir::toShape(pairs)));
  Dims along(pairs.size(), 1), across(pairs.size(), 1);
  along[axis] = across.back() = length;
  const Term here(op, op.iota(op.i64(), along, axis));
  const Term there(op, op.iota(op.i64(), across, static_cast<std::int64_t>(shape.size())));
  const Term isBefore = op.term(before[0]) | (!op.term(behind[0]) & (there < here));
  KILN_ASSIGN(
      Value ranks,
      isBefore.cast(op.i64()).reduce(ir::ReduceKind::Sum, {static_cast<std::int64_t>(shape.size())}).value());
  KILN_ASSIGN(Values sorted, op.sort(ranks, axis, /*descending=*/false));
  return sorted[1];
}

Result<Values> sort(OperationContext& op) {
  const Shape shape = dimsOf(op.operand(0));
  KILN_ASSIGN(std::int64_t axis, op.integer("dimension", -1));
  if (axis < 0) axis += static_cast<std::int64_t>(shape.size());
  if (axis < 0 || axis >= static_cast<std::int64_t>(shape.size()))
    return invalid("the dimension is outside of the rank");
  for (Value operand : op.operands())
    KILN_TRY(sameExtents(op, dimsOf(operand), shape, "operands differ in shape"));
  if (op.region(0).arguments.size() != 2 * op.operandCount() || op.region(0).operations.empty())
    return invalid("the comparator takes another number of values");
  if (isEmpty(shape) || shape[axis] == Dim(1)) return Values(op.operands());
  const std::vector<SortKey> keys = sortKeysOf(op.region(0));
  KILN_ASSIGN(Value order, keys.empty() ? orderByRanks(op, axis) : orderByKeys(op, keys, axis));
  Values results;
  for (Value operand : op.operands()) {
    KILN_ASSIGN(Value sorted, takeAlong(op, operand, order, axis));
    results.push_back(sorted);
  }
  return results;
}

}  // namespace

Result<Values> topK(OperationContext& op, std::int64_t count, bool isLargest) {
  const Value input = op.operand(0);
  const std::int64_t axis = rankOf(input) - 1;
  const std::string outside = "k is outside of the last dimension";
  if (axis < 0 || count < 0 || op.resultCount() != 2) return invalid(outside);
  Shape shape = dimsOf(input);
  KILN_TRY(notBelow(op, shape[axis], count, outside));
  shape[axis] = count;
  if (isEmpty(shape)) {
    KILN_ASSIGN(Value values, op.filled(elementOf(input), shape, 0));
    KILN_ASSIGN(Value places, op.filled(op.resultElement(1), shape, 0));
    return Values{values, places};
  }
  KILN_ASSIGN(Value key, orderable(op, input, /*isTotalOrder=*/true));
  KILN_ASSIGN(Values sorted, op.sort(key, axis, isLargest));
  KILN_ASSIGN(Value places, sliceAlong(op, sorted[1], axis, 0, count));
  KILN_ASSIGN(Value values, takeAlong(op, input, places, axis));
  KILN_ASSIGN(places, op.cast(places, op.resultElement(1)));
  return Values{values, places};
}

namespace {

Result<Values> chloTopK(OperationContext& op) {
  KILN_ASSIGN(const std::int64_t count, op.integer("k"));
  return topK(op, count, /*isLargest=*/true);
}

}  // namespace

std::span<const Row> sortRows() {
  static constexpr Row kRows[] = {{"chlo.top_k", chloTopK, 1, 0, false, true},
                                  {"sort", sort, 1, 1, false, true}};
  return kRows;
}

}  // namespace kiln::stablehlo
