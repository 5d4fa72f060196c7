// Reductions and softmax.
#include "compiler_core/frontend/onnx/operators.h"

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
  if (elementOf(reduction.input).isInteger(1))
    return fail(Code::kUnimplemented, "reductions of bool are not served yet");
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
  KILN_ASSIGN(Value result, node.reduce(kind, r.input, r.axes, r.keep));
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
  KILN_ASSIGN(Values square, reduceSumSquare(node));
  KILN_ASSIGN(Value result, node.unary(UnaryKind::Sqrt, square[0]));
  return Values{result};
}

// Before version 13 the input is seen as a matrix split at `axis` (default 1); from then on `axis` (default
// -1) is the one dimension that is normalised.
template <bool logarithm>
Result<Values> softmax(NodeContext& node) {
  KILN_ASSIGN(Value input, node.input(0));
  const bool flat = node.opset() < 13;
  KILN_ASSIGN(std::int64_t axis, node.integer("axis", flat ? 1 : -1));
  Dims shape(shapeOf(input));
  if (flat && axis == rankOf(input)) {
    shape.push_back(1);  // [all, 1]
    KILN_ASSIGN(input, node.reshape(input, shape));
  }
  KILN_ASSIGN(axis, normalAxis(axis, rankOf(input)));
  Dims original(shapeOf(node.inputs()[0]));
  if (flat) {
    auto rows = ir::checkedElements(llvm::ArrayRef(shape).take_front(axis));
    auto columns = ir::checkedElements(llvm::ArrayRef(shape).drop_front(axis));
    if (!rows || !columns) return fail(Code::kInvalidArgument, "absurd dimensions");
    KILN_ASSIGN(input, node.reshape(input, {*rows, *columns}));
    axis = 1;
  }
  Value result;
  if (logarithm) {
    // x - max - log(sum(exp(x - max)))
    KILN_ASSIGN(Value largest, node.reduce(ReduceKind::Max, input, {axis}, true));
    KILN_ASSIGN(Value moved, node.binary(BinaryKind::Sub, input, largest));
    KILN_ASSIGN(Value power, node.unary(UnaryKind::Exp, moved));
    KILN_ASSIGN(Value sum, node.reduce(ReduceKind::Sum, power, {axis}, true));
    KILN_ASSIGN(Value log, node.unary(UnaryKind::Log, sum));
    KILN_ASSIGN(result, node.binary(BinaryKind::Sub, moved, log));
  } else {
    KILN_ASSIGN(result, node.softmax(input, axis));
  }
  KILN_ASSIGN(result, node.reshape(result, original));
  return Values{result};
}

constexpr Operator kRows[] = {
    {"", "LogSoftmax", 6, kMaxOpset, softmax<true>},
    {"", "ReduceL1", 6, kMaxOpset, reduceL1},
    {"", "ReduceL2", 6, kMaxOpset, reduceL2},
    {"", "ReduceMax", 6, kMaxOpset, reduce<ReduceKind::Max, 18>},
    {"", "ReduceMean", 6, kMaxOpset, reduceMean},
    {"", "ReduceMin", 6, kMaxOpset, reduce<ReduceKind::Min, 18>},
    {"", "ReduceProd", 6, kMaxOpset, reduce<ReduceKind::Prod, 18>},
    {"", "ReduceSum", 6, kMaxOpset, reduce<ReduceKind::Sum, 13>},
    {"", "ReduceSumSquare", 6, kMaxOpset, reduceSumSquare},
    {"", "Softmax", 6, kMaxOpset, softmax<false>},
};

}  // namespace

std::span<const Operator> reductionOperators() {
  return kRows;
}

}  // namespace kiln::onnx
