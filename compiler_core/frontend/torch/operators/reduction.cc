// Reductions, orders and running sums.
#include <cmath>
#include <limits>

#include "compiler_core/frontend/torch/operators/operators.h"
#include "compiler_core/frontend/torch/operators/promotion.h"

namespace kiln::torch {
namespace {

using ir::ReduceKind;
using ir::UnaryKind;

struct Reduction {
  Term input;
  Dims axes;
  bool keep = false;
};

// "self" in the type of the result, over "dim": all dimensions where it is absent or empty.
Result<Reduction> read(NodeContext& node, bool inResultType) {
  KILN_ASSIGN(Value x, node.tensor("self"));
  if (inResultType) {
    KILN_ASSIGN(const mlir::Type type, calculatedType(node));
    KILN_ASSIGN(x, node.cast(x, type));
  }
  node.ignore({"dtype"});
  KILN_ASSIGN(const Dims given, node.integers("dim", Dims()));
  KILN_ASSIGN(const bool keep, node.flag("keepdim", false));
  Dims axes = allDims(rankOf(x));
  if (!given.empty() && rankOf(x) > 0) {
    KILN_ASSIGN(axes, normalAxes(given, rankOf(x)));
  }
  return Reduction{{node, x}, axes, keep};
}

template <ReduceKind kind>
Result<Values> reduce(NodeContext& node) {
  KILN_ASSIGN(const Reduction r, read(node, true));
  return one(r.input.reduce(kind, r.axes, r.keep));
}

Result<Value> meanOf(NodeContext& node, const Term& x, const Dims& axes, bool keep) {
  if (!x.ok()) return x.value();
  return node.mean(*x.value(), axes, keep);
}

Result<Values> mean(NodeContext& node) {
  KILN_ASSIGN(const Reduction r, read(node, true));
  return one(meanOf(node, r.input, r.axes, r.keep));
}

// true is above false; an unsigned byte knows the order.
template <ReduceKind kind>
Result<Value> extreme(NodeContext& node, Value x, const Dims& axes, bool keep) {
  const mlir::Type element = elementOf(x);
  if (element.isInteger(1)) {
    KILN_ASSIGN(x, node.cast(x, mlir::IntegerType::get(node.context(), 8, mlir::IntegerType::Unsigned)));
  }
  KILN_ASSIGN(const Value result, node.reduce(kind, x, axes, keep));
  return node.cast(result, element);
}

template <ReduceKind kind>
Result<Values> extremes(NodeContext& node) {
  KILN_ASSIGN(const Reduction r, read(node, false));
  return one(extreme<kind>(node, *r.input.value(), r.axes, r.keep));
}

// max and min: of everything, along one dimension with positions, or of two tensors.
template <ReduceKind kind>
Result<Values> extremeOrOther(NodeContext& node) {
  if (node.has("other")) {
    KILN_ASSIGN(const mlir::Type type, node.outputType());
    KILN_ASSIGN(const Value a, node.operand("self", type));
    KILN_ASSIGN(const Value b, node.operand("other", type));
    return one(node.binary(kind == ReduceKind::Max ? ir::BinaryKind::Max : ir::BinaryKind::Min, a, b));
  }
  KILN_ASSIGN(const Reduction r, read(node, false));
  const Value x = *r.input.value();
  KILN_ASSIGN(const Value result, extreme<kind>(node, x, r.axes, r.keep));
  if (node.outputCount() < 2) return Values{result};
  if (!node.wantsOutput(1)) return Values{result, Value()};
  if (r.axes.size() != 1) return invalid("positions along " + std::to_string(r.axes.size()) + " dimensions");
  KILN_ASSIGN(Value position, node.argReduce(kind, x, r.axes[0], false));
  KILN_ASSIGN(const Shape shape, node.outputShape(1));
  KILN_ASSIGN(position, node.reshape(position, shape));
  return Values{result, position};
}

template <ReduceKind kind>
Result<Values> argument(NodeContext& node) {
  KILN_ASSIGN(Value x, node.tensor("self"));
  node.ignore({"keepdim"});
  std::int64_t axis = 0;
  if (node.has("dim")) {
    KILN_ASSIGN(axis, node.integer("dim"));
    KILN_ASSIGN(axis, normalAxis(axis, rankOf(x)));
  } else {
    KILN_ASSIGN(x, node.reshape(x, Shape{ir::product(dimsOf(x))}));
  }
  KILN_ASSIGN(const Value position, node.argReduce(kind, x, axis, false));
  KILN_ASSIGN(const Shape shape, node.outputShape());
  return one(node.reshape(position, shape));
}

// Whether any element, or every one, is not 0.
template <bool all>
Result<Values> truth(NodeContext& node) {
  KILN_ASSIGN(const Reduction r, read(node, false));
  const Term isTrue = elementOf(*r.input.value()).isInteger(1) ? r.input : !(r.input == 0.0);
  KILN_ASSIGN(const Value flags, isTrue.value());
  return one(extreme<all ? ReduceKind::Min : ReduceKind::Max>(node, flags, r.axes, r.keep));
}

// The mean of squared distances from the mean, with the divisor made smaller by `correction`.
Result<Term> varianceOf(NodeContext& node, const Reduction& r) {
  double correction = 1;
  if (node.has("unbiased")) {
    KILN_ASSIGN(const bool unbiased, node.flag("unbiased"));
    correction = unbiased ? 1 : 0;
  } else {
    KILN_ASSIGN(correction, node.real("correction", 1.0));
  }
  const Term centred = r.input - r.input.mean(r.axes);
  const Term sum = (centred * centred).reduce(ReduceKind::Sum, r.axes, r.keep);
  Dim count = 1;
  const Shape shape = r.input.shape();
  for (std::int64_t axis : r.axes) count = count * shape[static_cast<std::size_t>(axis)];
  const mlir::Type type = elementOf(*r.input.value());
  return sum / max(frontend::extentOf(node, type, count) - correction, 0.0);
}

template <bool root>
Result<Values> variance(NodeContext& node) {
  KILN_ASSIGN(const Reduction r, read(node, false));
  KILN_ASSIGN(const Term result, varianceOf(node, r));
  return one(root ? result.sqrt() : result);
}

template <bool root>
Result<Values> varianceAndMean(NodeContext& node) {
  KILN_ASSIGN(const Reduction r, read(node, false));
  KILN_ASSIGN(const Term spread, varianceOf(node, r));
  KILN_ASSIGN(const Value first, (root ? spread.sqrt() : spread).value());
  KILN_ASSIGN(const Value second, meanOf(node, r.input, r.axes, r.keep));
  return Values{first, second};
}

// log(sum(exp(x - max))) + max; where the largest is infinite nothing is moved.
Result<Values> logSumExp(NodeContext& node) {
  KILN_ASSIGN(const Reduction r, read(node, true));
  const Term most = r.input.reduce(ReduceKind::Max, r.axes, true);
  const Term shift = (most.abs() == std::numeric_limits<double>::infinity()).select(most.number(0), most);
  Term result =
      (r.input - shift).unary(UnaryKind::Exp).reduce(ReduceKind::Sum, r.axes, true).unary(UnaryKind::Log) +
      shift;
  if (!r.keep) {
    KILN_ASSIGN(const Shape shape, node.outputShape());
    result = result.reshape(shape);
  }
  return one(result);
}

// The p-norm: (sum |x|^p)^(1/p), largest or smallest for p infinite, the number of elements that are not 0
// for 0.
Result<Values> norm(NodeContext& node) {
  KILN_ASSIGN(const double p, node.real(node.has("ord") ? "ord" : "p", 2.0));
  KILN_ASSIGN(const Reduction r, read(node, true));
  const Term size = r.input.abs();
  const mlir::Type type = elementOf(*r.input.value());
  if (p == std::numeric_limits<double>::infinity()) return one(size.reduce(ReduceKind::Max, r.axes, r.keep));
  if (p == -std::numeric_limits<double>::infinity()) return one(size.reduce(ReduceKind::Min, r.axes, r.keep));
  if (p == 0) return one((!(size == 0.0)).cast(type).reduce(ReduceKind::Sum, r.axes, r.keep));
  if (p == 1) return one(size.reduce(ReduceKind::Sum, r.axes, r.keep));
  if (p == 2) return one((r.input * r.input).reduce(ReduceKind::Sum, r.axes, r.keep).sqrt());
  const Term sum = size.binary(ir::BinaryKind::Pow, size.number(p)).reduce(ReduceKind::Sum, r.axes, r.keep);
  return one(sum.binary(ir::BinaryKind::Pow, sum.number(1.0 / p)));
}

template <ReduceKind kind>
Result<Values> cumulative(NodeContext& node) {
  node.ignore({"dtype"});
  KILN_ASSIGN(const mlir::Type type, calculatedType(node));
  KILN_ASSIGN(const Value x, node.operand("self", type));
  KILN_ASSIGN(std::int64_t axis, node.integer("dim"));
  if (rankOf(x) == 0) return Values{x};
  KILN_ASSIGN(axis, normalAxis(axis, rankOf(x)));
  return one(node.cumulative(kind, x, axis, false, false));
}

// Equal elements stay in their order.
Result<Values> sorted(NodeContext& node) {
  node.ignore({"stable"});
  KILN_ASSIGN(const Value x, node.tensor("self"));
  KILN_ASSIGN(std::int64_t axis, node.integer("dim", -1));
  KILN_ASSIGN(axis, normalAxis(axis, rankOf(x)));
  KILN_ASSIGN(const bool descending, node.flag("descending", false));
  return node.sort(x, axis, descending);
}

Result<Values> argSorted(NodeContext& node) {
  KILN_ASSIGN(const Values both, sorted(node));
  return Values{both[1]};
}

Result<Values> largest(NodeContext& node) {
  node.ignore({"sorted"});
  KILN_ASSIGN(const Value x, node.tensor("self"));
  KILN_ASSIGN(const Dim count, node.extent("k"));
  KILN_ASSIGN(std::int64_t axis, node.integer("dim", -1));
  KILN_ASSIGN(axis, normalAxis(axis, rankOf(x)));
  KILN_ASSIGN(const bool isLargest, node.flag("largest", true));
  Shape shape = dimsOf(x);
  const auto room = node.rangeOf(shape[static_cast<std::size_t>(axis)] - count), least = node.rangeOf(count);
  if (!room || !least || room->min < 0 || least->min < 0) return invalid("k is more than there are elements");
  shape[static_cast<std::size_t>(axis)] = count;
  KILN_ASSIGN(Values both, node.sort(x, axis, isLargest));
  for (Value& value : both) {
    KILN_ASSIGN(value, node.slice(value, Dims(shape.size(), 0), Dims(shape.size(), 1), shape));
  }
  return both;
}

constexpr auto kWide = Precision::kWidened;
constexpr Row kRows[] = {
    {"all", truth<true>},
    {"amax", extremes<ReduceKind::Max>},
    {"amin", extremes<ReduceKind::Min>},
    {"any", truth<false>},
    {"argmax", argument<ReduceKind::Max>},
    {"argmin", argument<ReduceKind::Min>},
    {"argsort", argSorted},
    {"cumprod", cumulative<ReduceKind::Prod>, kWide},
    {"cumsum", cumulative<ReduceKind::Sum>, kWide},
    {"linalg_vector_norm", norm, kWide},
    {"logsumexp", logSumExp, kWide},
    {"max", extremeOrOther<ReduceKind::Max>},
    {"mean", mean, kWide},
    {"min", extremeOrOther<ReduceKind::Min>},
    {"norm", norm, kWide},
    {"prod", reduce<ReduceKind::Prod>, kWide},
    {"sort", sorted},
    {"std", variance<true>, kWide},
    {"std_mean", varianceAndMean<true>, kWide},
    {"sum", reduce<ReduceKind::Sum>, kWide},
    {"topk", largest},
    {"var", variance<false>, kWide},
    {"var_mean", varianceAndMean<false>, kWide},
};

}  // namespace

std::span<const Row> reductionRows() {
  return kRows;
}

}  // namespace kiln::torch
