// reduce, map and the running forms.
#include "compiler_core/frontend/stablehlo/operations/arg_reduction.h"
#include "compiler_core/frontend/stablehlo/operations/body.h"
#include "compiler_core/frontend/stablehlo/operations/elementwise.h"
#include "compiler_core/frontend/stablehlo/operations/operations.h"

namespace kiln::stablehlo {
namespace {

std::optional<ir::ReduceKind> kindOf(Combine combine) {
  switch (combine) {
    case Combine::kAdd:
      return ir::ReduceKind::Sum;
    case Combine::kMul:
      return ir::ReduceKind::Prod;
    case Combine::kMin:
      return ir::ReduceKind::Min;
    case Combine::kMax:
      return ir::ReduceKind::Max;
    default:
      return std::nullopt;
  }
}

// Of i1 by numbers: `and` is the smallest, `or` the largest, `xor` whether their count is odd.
Result<Value> reduceBools(OperationContext& op, Combine combine, Value input,
                          llvm::ArrayRef<std::int64_t> dims) {
  const bool isXor = combine == Combine::kXor;
  const mlir::Type number = mlir::IntegerType::get(op.context(), isXor ? 32 : 8, mlir::IntegerType::Unsigned);
  const ir::ReduceKind kind = isXor                      ? ir::ReduceKind::Sum
                              : combine == Combine::kAnd ? ir::ReduceKind::Min
                                                         : ir::ReduceKind::Max;
  Term reduced = op.term(input).cast(number).reduce(kind, dims);
  if (isXor) reduced = reduced % 2.0;
  return reduced.cast(op.i1()).value();
}

// The reduced dimensions become one, the first.
Result<Value> asRows(OperationContext& op, Value input, llvm::ArrayRef<std::int64_t> dims) {
  Dims order(dims), kept = otherDims(rankOf(input), dims);
  Shape shape{1};
  for (std::int64_t dim : dims) shape[0] = shape[0] * dimsOf(input)[dim];
  for (std::int64_t dim : kept) shape.push_back(dimsOf(input)[dim]);
  if (!shape[0].isStatic())
    return unserved("a reduction by a body of its own over " + op.describe(shape[0]) +
                    " elements, a size that only a run gives, is not served");
  llvm::append_range(order, kept);
  if (!llvm::is_sorted(order)) {
    KILN_ASSIGN(input, op.transpose(input, order));
  }
  return op.reshape(input, shape);
}

// One operation for all elements; null where there is none.
Result<Value> reduceByKind(OperationContext& op, Combine combine, Value input,
                           llvm::ArrayRef<std::int64_t> dims) {
  const mlir::Type element = elementOf(input);
  if (element.isInteger(1)) return reduceBools(op, combine, input, dims);
  if (auto kind = kindOf(combine); kind && element.getIntOrFloatBitWidth() >= 8)
    return op.reduce(*kind, input, dims, /*keep=*/false);
  KILN_ASSIGN(Value rows, asRows(op, input, dims));
  auto both = [&](const Values& a, const Values& b) -> Result<Values> {
    KILN_ASSIGN(Value made, stablehlo::combine(op, binaryKind(combine), a[0], b[0]));
    return Values{made};
  };
  KILN_ASSIGN(Values results, combineRows(op, {rows}, both));
  return op.reshape(results[0], Shape(llvm::ArrayRef(dimsOf(rows)).drop_front()));
}

Result<Values> reduceByBody(OperationContext& op, const Values& inputs, const Values& inits, const Dims& dims,
                            const Shape& kept) {
  const Region& body = op.region(0);
  auto both = [&](const Values& a, const Values& b) -> Result<Values> {
    Values arguments(a);
    llvm::append_range(arguments, b);
    KILN_ASSIGN(Values made, op.runPointwise(body, arguments, dimsOf(a[0])));
    if (made.size() != a.size()) return invalid("the body returns another number of values");
    return made;
  };
  Values rows;
  for (Value input : inputs) {
    KILN_ASSIGN(Value row, asRows(op, input, dims));
    rows.push_back(row);
  }
  KILN_ASSIGN(Values results, combineRows(op, rows, both));
  Values starts;
  for (std::size_t i = 0; i < results.size(); ++i) {
    KILN_ASSIGN(results[i], op.reshape(results[i], kept));
    KILN_ASSIGN(Value start, op.broadcast(inits[i], kept));
    starts.push_back(start);
  }
  return both(starts, results);
}

Result<Values> reduce(OperationContext& op) {
  const std::size_t count = op.operandCount() / 2;
  if (op.operandCount() != 2 * count) return invalid("needs as many start values as operands");
  const Values inputs(llvm::ArrayRef<Value>(op.operands()).take_front(count));
  const Values inits(llvm::ArrayRef<Value>(op.operands()).drop_front(count));
  const Shape shape = dimsOf(inputs[0]);
  for (std::size_t i = 0; i < count; ++i) {
    KILN_TRY(sameExtents(op, dimsOf(inputs[i]), shape, "operands differ in shape"));
    if (rankOf(inits[i]) != 0) return invalid("a start value is no scalar");
  }
  KILN_ASSIGN(Dims dims, op.dimensions("dimensions", static_cast<std::int64_t>(shape.size())));
  llvm::sort(dims);
  Shape kept;
  for (std::int64_t dim : otherDims(static_cast<std::int64_t>(shape.size()), dims))
    kept.push_back(shape[dim]);
  Values results;
  if (isEmpty(shape)) {
    for (Value init : inits) {
      KILN_ASSIGN(Value filled, op.broadcast(init, kept));
      results.push_back(filled);
    }
    return results;
  }
  if (const auto arg = count == 2 && dims.size() == 1 ? argKindOf(op.region(0)) : std::nullopt) {
    KILN_ASSIGN(results, argReduced(op, *arg, inputs, inits, dims[0]));
    if (!results.empty()) return results;
  }
  const Combine combine = count == 1 ? combineOf(op, op.region(0)) : Combine::kOther;
  if (combine == Combine::kOther || combine == Combine::kSecond)
    return reduceByBody(op, inputs, inits, dims, kept);
  KILN_ASSIGN(Value result, reduceByKind(op, combine, inputs[0], dims));
  if (!isNeutral(op, combine, inits[0])) {
    KILN_ASSIGN(result, stablehlo::combine(op, binaryKind(combine), inits[0], result));
  }
  return Values{result};
}

Result<Values> map(OperationContext& op) {
  const Shape shape = dimsOf(op.operand(0));
  for (Value operand : op.operands())
    KILN_TRY(sameExtents(op, dimsOf(operand), shape, "operands differ in shape"));
  return op.runPointwise(op.region(0), op.operands(), shape);
}

// A loop over one dimension: the body takes a slice of each input and the carried values, and gives a slice
// of each output and the next carried values.
Result<Values> scan(OperationContext& op) {
  KILN_ASSIGN(const bool isReverse, op.flag("is_reverse", false));
  const Region& body = op.region(0);
  const std::size_t results = op.resultCount();
  // Inputs come before inits and outputs before the last carried values, as many as there are inits.
  std::size_t inputs = 0;
  KILN_ASSIGN(const std::int64_t axis, op.dimension("dimension", rankOf(op.operand(0))));
  while (inputs < op.operandCount() && inputs < body.arguments.size() &&
         rankOf(op.operand(inputs)) == rankOf(op.operand(0)) &&
         op.argumentRank(body, inputs) + 1 == rankOf(op.operand(inputs)))
    ++inputs;
  const std::size_t carries = op.operandCount() - inputs;
  if (results < carries || body.arguments.size() != op.operandCount())
    return invalid("operands, results and the body's arguments do not fit");
  const std::int64_t length = shapeOf(op.operand(0))[axis];
  auto step = [&](Value iteration, const Values& carried) -> frontend::GraphBuilder::Yielded {
    Value place = iteration;
    if (isReverse) {
      KILN_ASSIGN(place, op.binary(ir::BinaryKind::Sub, op.longScalar(length - 1), iteration));
    }
    Values arguments;
    for (std::size_t i = 0; i < inputs; ++i) {
      KILN_ASSIGN(Value slice, op.gather(op.operand(i), place, axis));
      arguments.push_back(slice);
    }
    llvm::append_range(arguments, carried);
    KILN_ASSIGN(Values made, op.run(body, arguments));
    if (made.size() != results) return invalid("the body returns another number of values");
    Values yields(llvm::ArrayRef<Value>(made).take_back(carries));
    llvm::append_range(yields, llvm::ArrayRef<Value>(made).take_front(results - carries));
    return std::optional(yields);
  };
  const Values inits(llvm::ArrayRef<Value>(op.operands()).drop_front(inputs));
  KILN_ASSIGN(std::optional<Values> all, op.loop({op.longScalar(length), {}, Dim(length)}, inits, step));
  Values outputs;
  for (Value rows : llvm::ArrayRef<Value>(*all).drop_front(carries).drop_back()) {
    // Rows are made first to last along dimension 0.
    if (isReverse) {
      const Dims shape(shapeOf(rows));
      Dims offsets(shape.size(), 0), strides(shape.size(), 1);
      offsets[0] = length - 1;
      strides[0] = -1;
      KILN_ASSIGN(rows, op.slice(rows, offsets, strides, shape));
    }
    Dims order;
    for (std::int64_t dim = 1; dim <= axis; ++dim) order.push_back(dim);
    order.push_back(0);
    for (std::int64_t dim = axis + 1; dim < rankOf(rows); ++dim) order.push_back(dim);
    if (!llvm::is_sorted(order)) {
      KILN_ASSIGN(rows, op.transpose(rows, order));
    }
    outputs.push_back(rows);
  }
  llvm::append_range(outputs, llvm::ArrayRef<Value>(*all).take_front(carries));
  return outputs;
}

}  // namespace

std::span<const Row> reductionRows() {
  static constexpr Row kRows[] = {
      {"chlo.scan", scan, 1, 1}, {"map", map, 1, 1, false, true}, {"reduce", reduce, 2, 1, false, true}};
  return kRows;
}

}  // namespace kiln::stablehlo
