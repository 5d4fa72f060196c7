// Losses of classification.
#include "compiler_core/frontend/graph/formula.h"
#include "compiler_core/frontend/onnx/operators/operators.h"
#include "compiler_core/frontend/onnx/operators/shared.h"

namespace kiln::onnx {
namespace {

// The negated log-probability of each target class, times the class's weight; 0 where the target is ignored.
// Reduced by sum, or by a mean over the weights. `input` is [N, C, ...], `target` [N, ...]. A target outside
// of the classes counts as 0.
Result<Value> negativeLogLikelihood(NodeContext& node, Value input, Value target, std::size_t weightIndex) {
  KILN_ASSIGN(std::string reduction, node.text("reduction", "mean"));
  if (reduction != "none" && reduction != "sum" && reduction != "mean")
    return fail(Code::kInvalidArgument,
                "attribute 'reduction' is '" + reduction + "', not none, sum or mean");
  const bool ignores = node.hasAttribute("ignore_index");
  KILN_ASSIGN(std::int64_t ignored, node.integer("ignore_index", 0));
  Shape shape = dimsOf(input);
  if (shape.size() < 2 || rankOf(target) + 1 != rankOf(input))
    return fail(Code::kInvalidArgument, "input and target do not fit each other's rank");
  Shape single(shape);
  single[1] = Dim(1);
  const Term x(node, input), classes = Term(node, target).index();
  const Term number =
      countAlong(node, mlir::IntegerType::get(node.context(), 64), shape[1], 1, rankOf(input));
  const Term isTarget = classes.reshape(single) == number;
  const Term zero = x.number(0);
  const Term picked = isTarget.select(x, 0).reduce(ir::ReduceKind::Sum, {1});
  Term weight = x.number(1);
  if (node.hasInput(weightIndex)) {
    Shape perClass(shape.size(), Dim(1));
    perClass[1] = shape[1];
    const Term given = Term(node, node.inputs()[weightIndex]).reshape(perClass);
    weight = isTarget.select(given, given.number(0)).reduce(ir::ReduceKind::Sum, {1});
  }
  Shape rest(shape);
  rest.erase(rest.begin() + 1);
  weight = weight.broadcast(rest);
  if (ignores) weight = (classes == static_cast<double>(ignored)).select(zero, weight);
  const Term loss = -picked * weight;
  if (reduction == "none") return loss.value();
  Dims axes;
  for (std::size_t i = 0; i < rest.size(); ++i) axes.push_back(static_cast<std::int64_t>(i));
  const Term sum = loss.reduce(ir::ReduceKind::Sum, axes);
  if (reduction == "sum") return sum.value();
  return (sum / weight.reduce(ir::ReduceKind::Sum, axes)).value();
}

Result<Values> nllLoss(NodeContext& node) {
  KILN_ASSIGN(Value input, node.input(0));
  KILN_ASSIGN(Value target, node.input(1));
  KILN_ASSIGN(Value loss, negativeLogLikelihood(node, input, target, 2));
  return Values{loss};
}

Result<Values> softmaxCrossEntropyLoss(NodeContext& node) {
  KILN_ASSIGN(Value scores, node.input(0));
  KILN_ASSIGN(Value labels, node.input(1));
  if (rankOf(scores) < 2) return fail(Code::kInvalidArgument, "scores have no class dimension");
  KILN_ASSIGN(Value probability, logSoftmaxOf(node, scores, 1));
  KILN_ASSIGN(Value loss, negativeLogLikelihood(node, probability, labels, 2));
  return Values{loss, probability};
}

constexpr Operator kRows[] = {
    {"", "NegativeLogLikelihoodLoss", 12, kMaxOpset, inF32<nllLoss>},
    {"", "SoftmaxCrossEntropyLoss", 12, kMaxOpset, inF32<softmaxCrossEntropyLoss>},
};

}  // namespace

std::span<const Operator> lossOperators() {
  return kRows;
}

}  // namespace kiln::onnx
