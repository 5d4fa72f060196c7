// Batch normalisation, as it runs, as it learns, and its gradient.
#include "compiler_core/frontend/stablehlo/operations/operations.h"

namespace kiln::stablehlo {
namespace {

using ir::ReduceKind;
using ir::UnaryKind;

struct Normalization {
  double epsilon = 0;
  std::int64_t feature = 0;
  Dims others;       // every other dimension
  Dims perFeature;   // the shape of a parameter beside the operand
  double count = 1;  // elements of a feature
};

Result<Normalization> read(OperationContext& op) {
  Normalization result;
  const Value operand = op.operand(0);
  if (!isFloat(operand)) return invalid("the operand is no float");
  KILN_ASSIGN(result.epsilon, op.real("epsilon"));
  KILN_ASSIGN(result.feature, op.dimension("feature_index", rankOf(operand)));
  result.others = otherDims(rankOf(operand), {result.feature});
  result.perFeature = Dims(static_cast<std::size_t>(rankOf(operand)), 1);
  result.perFeature[result.feature] = shapeOf(operand)[result.feature];
  for (std::int64_t dim : result.others) result.count *= static_cast<double>(shapeOf(operand)[dim]);
  return result;
}

mlir::Type working(OperationContext& op) {
  const mlir::Type element = elementOf(op.operand(0));
  return element.isF64() ? element : op.f32();
}

Term parameter(OperationContext& op, const Normalization& norm, std::size_t index) {
  return op.term(index).cast(working(op)).reshape(norm.perFeature);
}

Result<Values> finished(OperationContext& op, const Normalization& norm, llvm::ArrayRef<Term> terms) {
  Values results;
  for (std::size_t i = 0; i < terms.size(); ++i) {
    Term term = terms[i].cast(elementOf(op.operand(0)));
    if (i > 0) term = term.reshape(Dims{norm.perFeature[norm.feature]});
    KILN_ASSIGN(Value value, Result<Value>(term.value()));
    results.push_back(value);
  }
  return results;
}

Result<Values> inference(OperationContext& op) {
  KILN_ASSIGN(const Normalization norm, read(op));
  const Term x = op.term(0).cast(working(op));
  const Term deviation = (parameter(op, norm, 4) + norm.epsilon).sqrt();
  return finished(
      op, norm, {(x - parameter(op, norm, 3)) / deviation * parameter(op, norm, 1) + parameter(op, norm, 2)});
}

Result<Values> training(OperationContext& op) {
  KILN_ASSIGN(const Normalization norm, read(op));
  const Term x = op.term(0).cast(working(op));
  const Term mean = x.mean(norm.others), centered = x - mean;
  const Term variance = (centered * centered).mean(norm.others);
  const Term result =
      centered / (variance + norm.epsilon).sqrt() * parameter(op, norm, 1) + parameter(op, norm, 2);
  return finished(op, norm, {result, mean, variance});
}

// Operands: what was normalised, scale, mean, variance, and the gradient of the result.
Result<Values> gradient(OperationContext& op) {
  KILN_ASSIGN(const Normalization norm, read(op));
  const Term x = op.term(0).cast(working(op)), given = op.term(4).cast(working(op));
  const Term centered = x - parameter(op, norm, 2);
  const Term inverse = (parameter(op, norm, 3) + norm.epsilon).sqrt().unary(UnaryKind::Reciprocal);
  const Term offset = given.reduce(ReduceKind::Sum, norm.others, /*keep=*/true);
  const Term along = (given * centered).reduce(ReduceKind::Sum, norm.others, /*keep=*/true);
  const Term operand = parameter(op, norm, 1) * inverse / norm.count *
                       (given * norm.count - offset - centered * inverse * inverse * along);
  return finished(op, norm, {operand, along * inverse, offset});
}

}  // namespace

std::span<const Row> normalizationRows() {
  static constexpr Row kRows[] = {{"batch_norm_grad", gradient, 5},
                                  {"batch_norm_inference", inference, 5},
                                  {"batch_norm_training", training, 3}};
  return kRows;
}

}  // namespace kiln::stablehlo
