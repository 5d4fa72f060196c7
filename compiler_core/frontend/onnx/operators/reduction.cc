// Reductions and softmax.
#include <limits>

#include "compiler_core/frontend/onnx/operators/operators.h"
#include "compiler_core/frontend/onnx/operators/shared.h"

namespace kiln::onnx {
namespace {

using ir::BinaryKind;
using ir::ReduceKind;
using ir::UnaryKind;

struct Reduction {
  Value input;
  Dims axes;
  bool keep = true;
};

// Axes are an attribute before `since` and an input from then on; none means all, unless
// noop_with_empty_axes.
Result<Reduction> readReduction(NodeContext& node, std::int64_t since) {
  Reduction reduction;
  KILN_ASSIGN(reduction.input, node.input(0));
  KILN_ASSIGN(std::int64_t keep, node.integer("keepdims", 1));
  KILN_ASSIGN(std::int64_t noop,
              node.opset() >= since ? node.integer("noop_with_empty_axes", 0) : Result<std::int64_t>(0));
  KILN_ASSIGN(std::optional<Dims> axes, node.integersByVersion("axes", 1, since));
  reduction.keep = keep != 0;
  if (axes && !axes->empty()) {
    KILN_ASSIGN(reduction.axes, normalAxes(*axes, rankOf(reduction.input)));
  } else if (!noop) {
    for (std::int64_t axis = 0; axis < rankOf(reduction.input); ++axis) reduction.axes.push_back(axis);
  }
  return reduction;
}

template <ReduceKind kind, int since>
Result<Values> reduce(NodeContext& node) {
  KILN_ASSIGN(Reduction r, readReduction(node, since));
  // true is above false; an unsigned byte knows the order.
  const mlir::Type element = elementOf(r.input);
  if (element.isInteger(1)) {
    KILN_ASSIGN(r.input, node.cast(r.input, ir::elementType(node.context(), DType::kU8)));
  }
  KILN_ASSIGN(Value result, node.reduce(kind, r.input, r.axes, r.keep));
  KILN_ASSIGN(result, node.cast(result, element));
  return Values{result};
}

// What is not closed over integers is calculated in f64 and truncated.
Result<mlir::Type> widenIntegers(NodeContext& node, Reduction& r) {
  const mlir::Type element = elementOf(r.input);
  if (!isFloat(r.input)) {
    KILN_ASSIGN(r.input, node.cast(r.input, mlir::Float64Type::get(node.context())));
  }
  return element;
}

Result<Values> reduceLogSum(NodeContext& node) {
  KILN_ASSIGN(Reduction r, readReduction(node, 18));
  KILN_ASSIGN(mlir::Type element, widenIntegers(node, r));
  KILN_ASSIGN(Value sum, node.reduce(ReduceKind::Sum, r.input, r.axes, r.keep));
  KILN_ASSIGN(Value log, node.unary(UnaryKind::Log, sum));
  KILN_ASSIGN(Value result, node.cast(log, element));
  return Values{result};
}

// log(sum(exp(x - max))) + max; where the largest is infinite, nothing is moved.
Result<Values> reduceLogSumExp(NodeContext& node) {
  KILN_ASSIGN(Reduction r, readReduction(node, 18));
  KILN_ASSIGN(mlir::Type element, widenIntegers(node, r));
  const mlir::Type working = elementOf(r.input);
  KILN_ASSIGN(Value largest, node.reduce(ReduceKind::Max, r.input, r.axes, true));
  KILN_ASSIGN(Value size, node.unary(UnaryKind::Abs, largest));
  KILN_ASSIGN(Value infinite, node.compare(ir::CompareKind::Eq, size,
                                           node.scalar(working, std::numeric_limits<double>::infinity())));
  KILN_ASSIGN(largest, node.select(infinite, node.scalar(working, 0), largest));
  KILN_ASSIGN(Value moved, node.binary(BinaryKind::Sub, r.input, largest));
  KILN_ASSIGN(Value powers, node.unary(UnaryKind::Exp, moved));
  KILN_ASSIGN(Value sum, node.reduce(ReduceKind::Sum, powers, r.axes, true));
  KILN_ASSIGN(Value log, node.unary(UnaryKind::Log, sum));
  KILN_ASSIGN(Value result, node.binary(BinaryKind::Add, log, largest));
  if (!r.keep) {
    Shape shape;
    for (auto [i, dim] : llvm::enumerate(dimsOf(r.input)))
      if (!llvm::is_contained(r.axes, static_cast<std::int64_t>(i))) shape.push_back(dim);
    KILN_ASSIGN(result, node.reshape(result, shape));
  }
  KILN_ASSIGN(result, node.cast(result, element));
  return Values{result};
}

Result<Values> reduceMean(NodeContext& node) {
  KILN_ASSIGN(Reduction r, readReduction(node, 18));
  KILN_ASSIGN(Value result, node.mean(r.input, r.axes, r.keep));
  return Values{result};
}

Result<Values> reduceSumSquare(NodeContext& node) {
  KILN_ASSIGN(Reduction r, readReduction(node, 18));
  KILN_ASSIGN(Value square, node.binary(BinaryKind::Mul, r.input, r.input));
  KILN_ASSIGN(Value result, node.reduce(ReduceKind::Sum, square, r.axes, r.keep));
  return Values{result};
}

Result<Values> reduceL1(NodeContext& node) {
  KILN_ASSIGN(Reduction r, readReduction(node, 18));
  KILN_ASSIGN(Value size, node.unary(UnaryKind::Abs, r.input));
  KILN_ASSIGN(Value result, node.reduce(ReduceKind::Sum, size, r.axes, r.keep));
  return Values{result};
}

Result<Values> reduceL2(NodeContext& node) {
  KILN_ASSIGN(Reduction r, readReduction(node, 18));
  KILN_ASSIGN(mlir::Type element, widenIntegers(node, r));
  KILN_ASSIGN(Value square, node.binary(BinaryKind::Mul, r.input, r.input));
  KILN_ASSIGN(Value sum, node.reduce(ReduceKind::Sum, square, r.axes, r.keep));
  KILN_ASSIGN(Value root, node.unary(UnaryKind::Sqrt, sum));
  KILN_ASSIGN(Value result, node.cast(root, element));
  return Values{result};
}

// x / |x| along an axis; 0 where the norm is 0.
Result<Values> lpNormalization(NodeContext& node) {
  KILN_ASSIGN(Value x, node.input(0));
  KILN_ASSIGN(std::int64_t axis, node.integer("axis", -1));
  KILN_ASSIGN(axis, normalAxis(axis, rankOf(x)));
  KILN_ASSIGN(std::int64_t p, node.integer("p", 2));
  if (p != 1 && p != 2)
    return fail(Code::kInvalidArgument, "attribute 'p' is " + std::to_string(p) + ", not 1 or 2");
  const mlir::Type element = elementOf(x);
  KILN_ASSIGN(Value size, p == 1 ? node.unary(UnaryKind::Abs, x) : node.binary(BinaryKind::Mul, x, x));
  KILN_ASSIGN(Value norm, node.reduce(ReduceKind::Sum, size, {axis}, true));
  if (p == 2) {
    KILN_ASSIGN(norm, node.unary(UnaryKind::Sqrt, norm));
  }
  KILN_ASSIGN(Value isZero, node.compare(ir::CompareKind::Eq, norm, node.scalar(element, 0)));
  KILN_ASSIGN(norm, node.select(isZero, node.scalar(element, 1), norm));
  KILN_ASSIGN(Value result, node.binary(BinaryKind::Div, x, norm));
  return Values{result};
}

// (x - mean) / (sqrt(mean(x^2) - mean^2) + 1e-9) over the axes (batch and positions unless they are given).
Result<Values> meanVarianceNormalization(NodeContext& node) {
  KILN_ASSIGN(Value x, node.input(0));
  KILN_ASSIGN(Dims given, node.integers("axes", {0, 2, 3}));
  KILN_ASSIGN(Dims axes, normalAxes(given, rankOf(x)));
  KILN_ASSIGN(Value mean, node.mean(x, axes, true));
  KILN_ASSIGN(Value centred, node.binary(BinaryKind::Sub, x, mean));
  KILN_ASSIGN(Value square, node.binary(BinaryKind::Mul, centred, centred));
  KILN_ASSIGN(Value variance, node.mean(square, axes, true));
  KILN_ASSIGN(Value deviation, node.unary(UnaryKind::Sqrt, variance));
  KILN_ASSIGN(deviation, node.binary(BinaryKind::Add, deviation, node.scalar(elementOf(x), 1e-9)));
  KILN_ASSIGN(Value result, node.binary(BinaryKind::Div, centred, deviation));
  return Values{result};
}

// Before version 13 the input is seen as a matrix split at `axis` (default 1); from then on `axis` (default
// -1) is the one dimension that is normalised.
template <bool logarithm>
Result<Values> softmax(NodeContext& node) {
  KILN_ASSIGN(Value input, node.input(0));
  const bool flat = node.opset() < 13;
  KILN_ASSIGN(std::int64_t axis, node.integer("axis", flat ? 1 : -1));
  Shape shape = dimsOf(input);
  if (flat && axis == rankOf(input)) {
    shape.push_back(1);  // [all, 1]
    KILN_ASSIGN(input, node.reshape(input, shape));
  }
  KILN_ASSIGN(axis, normalAxis(axis, rankOf(input)));
  const Shape original = dimsOf(node.inputs()[0]);
  if (flat) {
    KILN_ASSIGN(input, node.reshape(input, {ir::product(llvm::ArrayRef(shape).take_front(axis)),
                                            ir::product(llvm::ArrayRef(shape).drop_front(axis))}));
    axis = 1;
  }
  Value result;
  if (logarithm) {
    KILN_ASSIGN(result, logSoftmaxOf(node, input, axis));
  } else {
    KILN_ASSIGN(result, node.softmax(input, axis));
  }
  KILN_ASSIGN(result, node.reshape(result, original));
  return Values{result};
}

constexpr Operator kRows[] = {
    {"", "LpNormalization", 6, kMaxOpset, inF32<lpNormalization>},
    {"", "MeanVarianceNormalization", 9, kMaxOpset, inF32<meanVarianceNormalization>},
    {"", "ReduceLogSum", 6, kMaxOpset, inF32<reduceLogSum>},
    {"", "ReduceLogSumExp", 6, kMaxOpset, inF32<reduceLogSumExp>},
    {"", "LogSoftmax", 6, kMaxOpset, inF32<softmax<true>>},
    {"", "ReduceL1", 6, kMaxOpset, inF32<reduceL1>},
    {"", "ReduceL2", 6, kMaxOpset, inF32<reduceL2>},
    {"", "ReduceMax", 6, kMaxOpset, reduce<ReduceKind::Max, 18>},
    {"", "ReduceMean", 6, kMaxOpset, inF32<reduceMean>},
    {"", "ReduceMin", 6, kMaxOpset, reduce<ReduceKind::Min, 18>},
    {"", "ReduceProd", 6, kMaxOpset, reduce<ReduceKind::Prod, 18>},
    {"", "ReduceSum", 6, kMaxOpset, reduce<ReduceKind::Sum, 13>},
    {"", "ReduceSumSquare", 6, kMaxOpset, inF32<reduceSumSquare>},
    {"", "Softmax", 6, kMaxOpset, softmax<false>},
};

}  // namespace

// x - max - log(sum(exp(x - max)))
Result<Value> logSoftmaxOf(NodeContext& node, Value input, std::int64_t axis) {
  KILN_ASSIGN(Value largest, node.reduce(ReduceKind::Max, input, {axis}, true));
  KILN_ASSIGN(Value moved, node.binary(BinaryKind::Sub, input, largest));
  KILN_ASSIGN(Value power, node.unary(UnaryKind::Exp, moved));
  KILN_ASSIGN(Value sum, node.reduce(ReduceKind::Sum, power, {axis}, true));
  KILN_ASSIGN(Value log, node.unary(UnaryKind::Log, sum));
  return node.binary(BinaryKind::Sub, moved, log);
}

std::span<const Operator> reductionOperators() {
  return kRows;
}

}  // namespace kiln::onnx
