// Normalisations behind a sum: of a residual, and of embeddings.
#include "compiler_core/frontend/graph/index_math.h"
#include "compiler_core/frontend/onnx/formula/check_indices.h"
#include "compiler_core/frontend/onnx/operators/contrib/contrib.h"
#include "compiler_core/frontend/onnx/operators/shared.h"

namespace kiln::onnx {
namespace {

mlir::Type f32(NodeContext& node) {
  return mlir::Float32Type::get(node.context());
}

// input + skip + bias, the skip repeated over the batch where it has none.
Result<Term> skipped(NodeContext& node, std::size_t bias) {
  KILN_ASSIGN(Value input, node.input(0));
  KILN_ASSIGN(Value skip, node.input(1));
  if (rankOf(input) < 2) return invalid("the input has rank " + std::to_string(rankOf(input)));
  Term sum = Term(node, input) + Term(node, skip);
  if (node.hasInput(bias)) sum = sum + Term(node, node.inputs()[bias]);
  KILN_ASSIGN(Value value, sum.value());
  if (dimsOf(value) != dimsOf(input))
    return invalid("skip of shape " + node.describe(dimsOf(skip)) + " does not fit " +
                   node.describe(dimsOf(input)));
  return sum;
}

Result<Values> skipLayerNormalization(NodeContext& node) {
  KILN_ASSIGN(Value gamma, node.input(2));
  KILN_ASSIGN(float epsilon, node.real("epsilon", 1e-12f));
  KILN_ASSIGN(Term sum, skipped(node, 4));
  const std::int64_t axis = static_cast<std::int64_t>(sum.shape().size()) - 1;
  Term result = normalized(sum.cast(f32(node)), {axis}, epsilon).result * Term(node, gamma).cast(f32(node));
  if (node.hasInput(3)) result = result + Term(node, node.inputs()[3]).cast(f32(node));
  Values results(4);  // mean and inverse deviation are for training
  KILN_ASSIGN(results[0], result.cast(elementOf(*sum.value())).value());
  KILN_ASSIGN(results[3], sum.value());
  return results;
}

Result<Values> skipRmsNormalization(NodeContext& node) {
  KILN_ASSIGN(Value gamma, node.input(2));
  KILN_ASSIGN(float epsilon, node.real("epsilon", 1e-12f));
  KILN_ASSIGN(Term sum, skipped(node, 3));
  const std::int64_t axis = static_cast<std::int64_t>(sum.shape().size()) - 1;
  const Term wide = sum.cast(f32(node));
  const Term inverse = ((wide * wide).mean({axis}) + epsilon).sqrt().unary(ir::UnaryKind::Reciprocal);
  Values results(4);
  KILN_ASSIGN(results[0],
              (wide * inverse * Term(node, gamma).cast(f32(node))).cast(elementOf(*sum.value())).value());
  KILN_ASSIGN(results[3], sum.value());
  return results;
}

// Rows of a table, which the ids have to lie in.
Result<Term> lookedUp(NodeContext& node, std::size_t table, Value ids) {
  KILN_ASSIGN(Value rows, node.input(table));
  if (rankOf(rows) != 2) return invalid("an embedding table has rank " + std::to_string(rankOf(rows)));
  KILN_TRY(checkIndices(node, ids, dimsOf(rows)[0]));
  return Term(node, rows).gather(Term(node, ids).index(), 0);
}

Result<Values> embedLayerNormalization(NodeContext& node) {
  KILN_ASSIGN(Value ids, node.input(0));
  KILN_ASSIGN(Value gamma, node.input(5));
  KILN_ASSIGN(Value beta, node.input(6));
  KILN_ASSIGN(float epsilon, node.real("epsilon", 1e-12f));
  // For shape inference only: whether the mask's index is an output.
  KILN_TRY(node.integer("mask_index_type", 0));
  if (rankOf(ids) != 2) return invalid("input_ids have rank " + std::to_string(rankOf(ids)));
  const Shape shape = dimsOf(ids);
  const mlir::Type i64 = mlir::IntegerType::get(node.context(), 64), i32 = elementOf(ids);
  KILN_ASSIGN(Term sum, lookedUp(node, 2, ids));
  Value positions;
  if (node.hasInput(8)) {
    positions = node.inputs()[8];
  } else {
    KILN_ASSIGN(positions, node.iota(i64, {shape[1]}, 0));
  }
  KILN_ASSIGN(Term position, lookedUp(node, 3, positions));
  sum = sum + position;
  if (node.hasInput(1) != node.hasInput(4)) return invalid("segment_ids and segment_embedding come together");
  if (node.hasInput(1)) {
    KILN_ASSIGN(Term segment, lookedUp(node, 4, node.inputs()[1]));
    sum = sum + segment;
  }
  const Term result =
      normalized(sum.cast(f32(node)), {2}, epsilon).result * Term(node, gamma).cast(f32(node)) +
      Term(node, beta).cast(f32(node));
  Values results(3);
  KILN_ASSIGN(Value embedded, sum.value());
  KILN_ASSIGN(results[0], result.cast(elementOf(embedded)).value());
  // How many words a mask has, 0 without one.
  Term words(node, node.filled(i32, Shape{shape[0]}, 0));
  if (node.hasInput(7))
    words = (Term(node, node.inputs()[7]) == 1.0).cast(i32).reduce(ir::ReduceKind::Sum, {1});
  KILN_ASSIGN(results[1], words.value());
  results[2] = embedded;
  return results;
}

constexpr Operator kRows[] = {
    {kMicrosoft, "EmbedLayerNormalization", 1, 1, embedLayerNormalization},
    {kMicrosoft, "SkipLayerNormalization", 1, 1, skipLayerNormalization},
    {kMicrosoft, "SkipSimplifiedLayerNormalization", 1, 1, skipRmsNormalization},
};

}  // namespace

std::span<const Operator> contribNormalizationOperators() {
  return kRows;
}

}  // namespace kiln::onnx
