// Linear models.
#include "compiler_core/frontend/onnx/operators/ml/scores.h"
#include "compiler_core/frontend/onnx/operators/operators.h"

namespace kiln::onnx {
namespace {

using namespace ml;

// rows [N, F] x coefficients [K, F]^T + intercepts, where there are any.
Result<Term> products(NodeContext& node, const Term& rows, std::int64_t targets) {
  const std::int64_t features = rows.shape()[1].value();
  KILN_ASSIGN(const std::vector<float> coefficients, node.reals("coefficients", {}));
  KILN_ASSIGN(const std::vector<float> intercepts, node.reals("intercepts", {}));
  if (static_cast<std::int64_t>(coefficients.size()) != features * targets)
    return invalid("there are " + std::to_string(coefficients.size()) + " coefficients for " +
                   std::to_string(features) + " features and " + std::to_string(targets) + " targets");
  if (!intercepts.empty() && static_cast<std::int64_t>(intercepts.size()) != targets)
    return invalid("there are " + std::to_string(intercepts.size()) + " intercepts for " +
                   std::to_string(targets) + " targets");
  const mlir::Type f32 = mlir::Float32Type::get(node.context());
  std::vector<double> turned(coefficients.size());
  for (std::int64_t target = 0; target < targets; ++target)
    for (std::int64_t feature = 0; feature < features; ++feature)
      turned[static_cast<std::size_t>(feature * targets + target)] =
          coefficients[static_cast<std::size_t>(target * features + feature)];
  const Term scores = rows.matmul(realTable(node, f32, turned, {features, targets}));
  if (intercepts.empty()) return scores;
  return scores + realTable(node, f32, {intercepts.begin(), intercepts.end()});
}

Result<Values> linearRegressor(NodeContext& node) {
  KILN_ASSIGN(const Term rows, realRowsOf(node));
  KILN_ASSIGN(const std::int64_t targets, node.integer("targets", 1));
  KILN_ASSIGN(const PostTransform transform, postTransformOf(node));
  if (targets < 1 || targets > 1 << 24) return invalid("attribute 'targets' is absurd: it is from 1 to 2^24");
  KILN_ASSIGN(const Term scores, products(node, rows, targets));
  KILN_ASSIGN(const Term result, regressed(node, scores, transform));
  KILN_ASSIGN(Value value, result.value());
  return Values{value};
}

Result<Values> linearClassifier(NodeContext& node) {
  KILN_ASSIGN(const Term rows, realRowsOf(node));
  KILN_ASSIGN(const PostTransform transform, postTransformOf(node));
  KILN_ASSIGN(const Dims labels, classLabels(node, "classlabels_ints"));
  KILN_TRY(
      node.integer("multi_class", 0));  // what the scores were trained for; ONNX calculates nothing by it
  const auto classes = static_cast<std::int64_t>(labels.size());
  if (classes < 2) return unserved("a classifier of fewer than two named classes is not served");
  const Attribute* coefficients = node.attribute("coefficients");
  const bool isOne = classes == 2 && coefficients &&
                     static_cast<std::int64_t>(coefficients->floats.size()) == rows.shape()[1].value();
  KILN_ASSIGN(Term scores, products(node, rows, isOne ? 1 : classes));
  KILN_ASSIGN(const Value raw, scores.value());
  const mlir::Type i64 = mlir::IntegerType::get(node.context(), 64);
  Term index = isOne ? (scores > 0.0).cast(i64).reshape({dimsOf(raw)[0]})
                     : Term(node, node.argReduce(ir::ReduceKind::Max, raw, 1, false));
  KILN_ASSIGN(const Term result, isOne ? bothScores(node, scores, transform, true)
                                       : Result<Term>(transformed(node, scores, transform)));
  KILN_ASSIGN(Value label, labelled(node, labels, index).value());
  KILN_ASSIGN(Value score, result.value());
  return Values{label, score};
}

constexpr Operator kRows[] = {
    {"ai.onnx.ml", "LinearClassifier", 1, 5, linearClassifier},
    {"ai.onnx.ml", "LinearRegressor", 1, 5, linearRegressor},
};

}  // namespace

std::span<const Operator> mlLinearOperators() {
  return kRows;
}

}  // namespace kiln::onnx
