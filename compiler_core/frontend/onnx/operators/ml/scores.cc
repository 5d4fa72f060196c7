#include "compiler_core/frontend/onnx/operators/ml/scores.h"

namespace kiln::onnx::ml {
namespace {

using ir::ReduceKind;
using ir::UnaryKind;

// Softmax of the scores that are not 0; those stay 0.
Term softmaxZero(const Term& scores) {
  const Term most = scores.reduce(ReduceKind::Max, {1}, true);
  const Term isScored = scores.abs() > 1e-7;
  const Term powers = (scores - most).unary(UnaryKind::Exp);
  const Term sum = isScored.select(powers, 0.0).reduce(ReduceKind::Sum, {1}, true);
  return isScored.select(powers, scores * (-most).unary(UnaryKind::Exp)) / sum;
}

// sqrt(2) * erfinv(2 * x - 1), by Winitzki's approximation (a = 0.147), as ONNX Runtime calculates it.
Term probit(const Term& share) {
  const Term x = share * 2.0 - 1.0;
  const Term log = ((1.0 - x) * (1.0 + x)).unary(UnaryKind::Log);
  const Term half = log * 0.5 + 2.0 / (3.14159 * 0.147);
  const Term size = ((half * half - log * (1 / 0.147)).sqrt() - half).sqrt();
  return (x < 0.0).select(-size, size) * 1.41421356;
}

}  // namespace

Result<Term> rowsOf(NodeContext& node) {
  KILN_ASSIGN(Value x, node.input(0));
  Shape shape = dimsOf(x);
  if (shape.empty() || shape.size() > 2)
    return invalid("input 0 has " + std::to_string(shape.size()) +
                   " dimensions; rows of features are [N, F]");
  if (!shape.back().isStatic())
    return unserved("the number of features, the last dimension of input 0, must be known at compile time");
  if (shape.size() == 1) shape.insert(shape.begin(), Dim(1));
  return Term(node, node.reshape(x, shape));
}

Result<Term> realRowsOf(NodeContext& node) {
  KILN_ASSIGN(Term rows, rowsOf(node));
  return rows.cast(mlir::Float32Type::get(node.context()));
}

Term realTable(NodeContext& node, mlir::Type element, const std::vector<double>& values,
               std::vector<std::int64_t> shape) {
  if (shape.empty()) shape = {static_cast<std::int64_t>(values.size())};
  return {node, node.table(element, std::move(shape), values)};
}

Result<PostTransform> postTransformOf(NodeContext& node) {
  KILN_ASSIGN(const std::string name, node.text("post_transform", "NONE"));
  constexpr std::string_view kNames[] = {"NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT"};
  for (std::size_t i = 0; i < std::size(kNames); ++i)
    if (name == kNames[i]) return static_cast<PostTransform>(i);
  return invalid("attribute 'post_transform' is '" + name + "'");
}

Term transformed(NodeContext& node, const Term& scores, PostTransform transform) {
  switch (transform) {
    case PostTransform::kNone:
      return scores;
    case PostTransform::kSoftmax:
      return scores.ok() ? Term(node, node.softmax(*scores.value(), 1)) : scores;
    case PostTransform::kLogistic:
      return scores.unary(UnaryKind::Sigmoid);
    case PostTransform::kSoftmaxZero:
      return softmaxZero(scores);
    case PostTransform::kProbit:
      return probit(scores);
  }
  return scores;
}

Result<Term> regressed(NodeContext& node, const Term& scores, PostTransform transform) {
  const bool isOne = scores.ok() && scores.shape()[1] == Dim(1);
  if (isOne && transform != PostTransform::kNone && transform != PostTransform::kProbit)
    return unserved(
        "post_transform other than NONE or PROBIT of one target: ONNX Runtime leaves it out; export without "
        "it "
        "and put the function behind the node");
  return transformed(node, scores, transform);
}

Result<Dims> classLabels(NodeContext& node, std::string_view integers) {
  KILN_ASSIGN(Dims labels, node.integers(integers, {}));
  KILN_ASSIGN(const std::vector<std::string_view> names, node.texts("classlabels_strings"));
  if (names.empty()) return labels;
  if (!labels.empty()) return invalid("the classes are named twice, by integers and by strings");
  if (node.wantsOutput(0))
    return unserved(
        "attribute 'classlabels_strings' is served in the graph of the model alone, not in bodies and "
        "functions; take "
        "the scores alone there");
  for (std::size_t i = 0; i < names.size(); ++i) labels.push_back(static_cast<std::int64_t>(i));
  return labels;
}

Term labelled(NodeContext& node, const Dims& labels, const Term& index) {
  std::vector<reference::Element> elements;
  for (std::int64_t label : labels) elements.push_back({true, true, static_cast<std::uint64_t>(label), 0});
  const Term table(node, node.table(mlir::IntegerType::get(node.context(), 64),
                                    {static_cast<std::int64_t>(labels.size())}, elements));
  return table.gather(index, 0);
}

Result<Term> bothScores(NodeContext& node, const Term& score, PostTransform transform, bool isShare) {
  Term first = score, second = score;
  if (transform == PostTransform::kLogistic) {
    first = (-score).unary(UnaryKind::Sigmoid);
    second = score.unary(UnaryKind::Sigmoid);
  } else if (transform == PostTransform::kNone) {
    first = isShare ? 1.0 - score : -score;
  } else {
    return unserved(
        "post_transform other than NONE or LOGISTIC of one score for two classes: runtimes disagree about "
        "it; "
        "export with a score for each class");
  }
  KILN_ASSIGN(Value a, first.value());
  KILN_ASSIGN(Value b, second.value());
  return Term(node, node.concat({a, b}, 1));
}

}  // namespace kiln::onnx::ml
