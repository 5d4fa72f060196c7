// LinearAttention: a recurrence over the tokens, unrolled.
#include <cmath>

#include "compiler_core/frontend/graph/formula.h"
#include "compiler_core/frontend/onnx/operators/operators.h"
#include "compiler_core/frontend/onnx/operators/unfit.h"

namespace kiln::onnx {
namespace {

constexpr std::int64_t kMaxTokens = 512;

tl::unexpected<Error> invalid(std::string message) {
  return fail(Code::kInvalidArgument, std::move(message));
}

// Token `t` of x [batch, tokens, width] in `shape`.
Term tokenOf(NodeContext& node, const Term& x, std::int64_t t, const Shape& shape) {
  if (!x.ok()) return x;
  Shape one = x.shape();
  one[1] = Dim(1);
  return Term(node, node.slice(*x.value(), {0, t, 0}, {1, 1, 1}, one)).reshape(shape);
}

// Input `index` as [batch, tokens, width] in f32; kInvalidArgument when it has another rank, batch or length.
Result<Term> sequence(NodeContext& node, std::size_t index, const Shape& like) {
  KILN_ASSIGN(Value value, node.input(index));
  const Shape shape = dimsOf(value);
  if (shape.size() != 3) return invalid("input " + std::to_string(index) + " has not the query's rank");
  if (!(shape[0] == like[0]) || !(shape[1] == like[1]) || !shape[2].isStatic())
    return unfit("input " + std::to_string(index) + " is not [batch, tokens, heads * size] as the query is",
                 {shape[0], like[0], shape[1], like[1], shape[2]});
  return Term(node, value).cast(mlir::Float32Type::get(node.context()));
}

Result<Values> linearAttention(NodeContext& node) {
  KILN_ASSIGN(Value first, node.input(0));
  KILN_ASSIGN(std::int64_t heads, node.integer("kv_num_heads", 0));
  KILN_ASSIGN(std::int64_t queryHeads, node.integer("q_num_heads", 0));
  KILN_ASSIGN(float stated, node.real("scale", 0.0f));
  KILN_ASSIGN(std::string rule, node.text("update_rule", "gated_delta"));
  KILN_TRY(node.integer("chunk_size", 64));  // a hint about speed
  const bool gated = rule == "gated" || rule == "gated_delta",
             delta = rule == "delta" || rule == "gated_delta";
  if (!gated && !delta && rule != "linear") return invalid("attribute 'update_rule' is '" + rule + "'");
  if (gated != node.hasInput(4)) return invalid("a decay is for the gated rules, which need one");
  if (delta != node.hasInput(5)) return invalid("an update rate is for the delta rules, which need one");
  if (heads < 1 || queryHeads < heads || queryHeads % heads != 0)
    return invalid("the numbers of heads are not positive multiples");
  const Shape like = dimsOf(first);
  if (like.size() != 3) return invalid("the query is not [batch, tokens, heads * size]");
  if (!like[1].isStatic() || like[1].value() > kMaxTokens)
    return fail(Code::kUnimplemented, "more than " + std::to_string(kMaxTokens) +
                                          " tokens, or a number known at run "
                                          "time only, is not served");
  KILN_ASSIGN(Term query, sequence(node, 0, like));
  KILN_ASSIGN(Term key, sequence(node, 1, like));
  KILN_ASSIGN(Term value, sequence(node, 2, like));
  const std::int64_t keyWidth = key.shape()[2].value(), valueWidth = value.shape()[2].value();
  if (keyWidth % heads || valueWidth % heads || !(query.shape()[2] == Dim(keyWidth / heads * queryHeads)))
    return invalid("query, key and value do not divide into their heads");
  const std::int64_t keySize = keyWidth / heads, valueSize = valueWidth / heads, group = queryHeads / heads;
  const Dim batch = like[0];
  const mlir::Type f32 = mlir::Float32Type::get(node.context());
  const Shape stateShape = {batch, Dim(heads), Dim(keySize), Dim(valueSize)};
  std::optional<Term> decay, rate;
  Shape decayShape, rateShape;
  if (gated) {
    KILN_ASSIGN(decay, sequence(node, 4, like));
    const std::int64_t width = decay->shape()[2].value();
    if (width != heads && width != keyWidth)
      return invalid("the decay is neither per head nor per key element");
    decayShape = {batch, Dim(heads), Dim(width / heads), Dim(1)};
  }
  if (delta) {
    KILN_ASSIGN(rate, sequence(node, 5, like));
    const std::int64_t width = rate->shape()[2].value();
    if (width != heads && width != 1) return invalid("the update rate is neither per head nor one");
    rateShape = {batch, Dim(width), Dim(1), Dim(1)};
  }
  Term state(node, node.filled(f32, stateShape, 0));
  mlir::Type stateType = elementOf(first);
  if (node.hasInput(3)) {
    stateType = elementOf(node.inputs()[3]);
    Shape past = dimsOf(node.inputs()[3]);
    if (!(past == stateShape)) {
      past.push_back(batch);
      return unfit("the past state has another shape than the heads ask for", past);
    }
    state = Term(node, node.inputs()[3]).cast(f32);
  }
  const double scale = stated != 0 ? stated : 1.0 / std::sqrt(static_cast<double>(keySize));
  const Dim rows = batch * Dim(heads);
  Values outputs;
  for (std::int64_t t = 0; t < like[1].value() && state.ok(); ++t) {
    const Term k = tokenOf(node, key, t, {batch, Dim(heads), Dim(keySize), Dim(1)});
    Term v = tokenOf(node, value, t, {batch, Dim(heads), Dim(1), Dim(valueSize)});
    if (decay) state = state * tokenOf(node, *decay, t, decayShape).unary(ir::UnaryKind::Exp);
    if (rate)
      v = (v - (state * k).reduce(ir::ReduceKind::Sum, {2}, true)) * tokenOf(node, *rate, t, rateShape);
    state = state + k * v;
    const Term q = tokenOf(node, query, t, {rows, Dim(group), Dim(keySize)});
    const Term output = q.matmul(state.reshape({rows, Dim(keySize), Dim(valueSize)})) * scale;
    KILN_ASSIGN(Value made,
                output.reshape({batch, Dim(1), Dim(queryHeads * valueSize)}).cast(elementOf(first)).value());
    outputs.push_back(made);
  }
  KILN_ASSIGN(Value last, state.cast(stateType).value());
  if (outputs.empty()) return fail(Code::kUnimplemented, "no tokens");
  KILN_ASSIGN(Value output, node.concat(outputs, 1));
  return Values{output, last};
}

constexpr Operator kRows[] = {{"", "LinearAttention", 27, kMaxOpset, linearAttention}};

}  // namespace

std::span<const Operator> linearAttentionOperators() {
  return kRows;
}

}  // namespace kiln::onnx
