// Attention, FlexAttention and RotaryEmbedding.
#include "compiler_core/frontend/graph/index_math.h"
#include "compiler_core/frontend/onnx/formula/check_indices.h"
#include "compiler_core/frontend/onnx/operators/heads.h"
#include "compiler_core/frontend/onnx/operators/operators.h"
#include "compiler_core/frontend/onnx/operators/unfit.h"

namespace kiln::onnx {
namespace {

tl::unexpected<Error> invalid(std::string message) {
  return fail(Code::kInvalidArgument, std::move(message));
}

struct Settings {
  Scoring scoring;
  bool causal = false;
  std::int64_t queryHeads = 0, keyHeads = 0, outputMode = 0, left = -1, right = -1;
};

Result<Settings> readSettings(NodeContext& node) {
  Settings s;
  KILN_ASSIGN(float scale, node.real("scale", 0));
  KILN_ASSIGN(float softcap, node.real("softcap", 0));
  KILN_ASSIGN(std::int64_t causal, node.integer("is_causal", 0));
  KILN_ASSIGN(s.queryHeads, node.integer("q_num_heads", 0));
  KILN_ASSIGN(s.keyHeads, node.integer("kv_num_heads", 0));
  KILN_ASSIGN(s.outputMode, node.integer("qk_matmul_output_mode", 0));
  KILN_ASSIGN(std::int64_t precision, node.integer("softmax_precision", 0));
  if (node.opset() >= 25) {
    KILN_ASSIGN(s.left, node.integer("left_window_size", -1));
    KILN_ASSIGN(s.right, node.integer("right_window_size", -1));
    if (s.left < -1 || s.right < -1) return invalid("a window size is below -1");
  }
  if (node.hasAttribute("scale")) s.scoring.scale = scale;
  s.scoring.softcap = softcap;
  s.causal = causal != 0;
  if (s.outputMode < 0 || s.outputMode > 3)
    return invalid("qk_matmul_output_mode is " + std::to_string(s.outputMode));
  mlir::MLIRContext* context = node.context();
  mlir::Type& type = s.scoring.softmaxType;
  if (precision == 1) type = mlir::Float32Type::get(context);
  if (precision == 10) type = mlir::Float16Type::get(context);
  if (precision == 11) type = mlir::Float64Type::get(context);
  if (precision == 16) type = mlir::BFloat16Type::get(context);
  if (precision && !type) return invalid("softmax_precision is " + std::to_string(precision));
  return s;
}

Result<Value> grown(NodeContext& node, Value past, const Term& now) {
  if (!now.ok()) return now.value();
  if (rankOf(past) != 4) return invalid("past_key and past_value have rank 4");
  return node.concat({past, *now.value()}, 2);
}

Result<Values> attention(NodeContext& node) {
  KILN_ASSIGN(Settings s, readSettings(node));
  Values given;
  for (std::size_t i = 0; i < 3; ++i) {
    KILN_ASSIGN(Value input, node.input(i));
    given.push_back(input);
  }
  const mlir::Type element = elementOf(given[0]);
  if (!llvm::isa<mlir::FloatType>(element)) return invalid("Q is not of a float type");
  KILN_ASSIGN(Term query, asHeads(node, given[0], s.queryHeads));
  KILN_ASSIGN(Term key, asHeads(node, given[1], s.keyHeads));
  KILN_ASSIGN(Term value, asHeads(node, given[2], s.keyHeads));
  Dim before = 0;
  if (node.hasInput(4) != node.hasInput(5)) return invalid("past_key and past_value come together");
  if (node.hasInput(4)) {
    before = dimsOf(node.inputs()[4]).size() == 4 ? dimsOf(node.inputs()[4])[2] : Dim(0);
    key = Term(node, grown(node, node.inputs()[4], key));
    value = Term(node, grown(node, node.inputs()[5], value));
  }
  const bool limited = node.opset() >= 24 && node.hasInput(6);
  if (limited && node.hasInput(4)) return invalid("nonpad_kv_seqlen does not go with past_key");
  for (const Term* term : {&query, &key, &value})
    if (!term->ok()) return fail(term->value().error());
  const Shape q = query.shape(), k = key.shape();
  KILN_TRY(groupOf(q[1], k[1], value.shape()[1]));
  Bias bias(node, calculationType(element), q[2], k[2]);
  if (node.hasInput(3)) KILN_TRY(bias.mask(node.inputs()[3]));
  if (s.causal || s.left >= 0 || s.right >= 0) {
    Term offset = extentOf(node, bias.i64(), before);
    if (limited)
      offset = Term(node, node.inputs()[6]).reshape({k[0], Dim(1), Dim(1), Dim(1)}) -
               extentOf(node, bias.i64(), q[2]);
    if (s.causal) bias.window(offset, -1, 0);
    bias.window(offset, s.left, s.right);
  }
  if (limited) bias.first(Term(node, node.inputs()[6]).reshape({k[0], Dim(1), Dim(1), Dim(1)}));
  if (node.wantsOutput(3)) s.scoring.exposed = s.outputMode;
  KILN_ASSIGN(const Attended made, attended(node, query, key, value, bias.sum(), s.scoring));
  Values results(4);
  KILN_ASSIGN(results[0], (rankOf(given[0]) == 3 ? joinedHeads(made.result) : made.result).value());
  KILN_ASSIGN(results[1], key.value());
  KILN_ASSIGN(results[2], value.value());
  if (made.exposed) {
    KILN_ASSIGN(results[3], made.exposed->value());
  }
  return results;
}

// The graph in attribute `name` on a tensor, which keeps its type; the tensor itself without one. nullopt:
// something in it is not served.
Result<std::optional<Value>> modified(NodeContext& node, std::string_view name, Value tensor) {
  if (!node.hasAttribute(name)) return std::optional(tensor);
  KILN_ASSIGN(const Graph* graph, node.graph(name));
  KILN_ASSIGN(std::optional<Items> made, node.importBody(*graph, {Item::tensor(tensor)}, name));
  if (!made) return std::optional<Value>();
  if (made->size() != 1 || !made->front().isTensor() || made->front().value.getType() != tensor.getType())
    return invalid("the graph '" + std::string(name) + "' does not give one tensor of its input's type");
  return std::optional(made->front().value);
}

// Attention whose scores and probabilities graphs of the model may change.
Result<Items> flexAttention(NodeContext& node) {
  KILN_ASSIGN(Settings s, readSettings(node));
  Values given;
  for (std::size_t i = 0; i < 3; ++i) {
    KILN_ASSIGN(Value input, node.input(i));
    if (rankOf(input) != 4) return invalid("Q, K and V have rank 4");
    given.push_back(input);
  }
  const Shape q = dimsOf(given[0]), k = dimsOf(given[1]), v = dimsOf(given[2]);
  KILN_ASSIGN(const std::int64_t group, groupOf(q[1], k[1], v[1]));
  if (!q[3].isStatic()) return fail(Code::kUnimplemented, "the head's size must be known at compile time");
  const double scale = s.scoring.scale.value_or(1.0 / std::sqrt(static_cast<double>(q[3].value())));
  const mlir::Type element = elementOf(given[0]), wide = calculationType(element);
  const mlir::Type precise = s.scoring.softmaxType ? s.scoring.softmaxType : wide;
  const Dim rows = Dim(group) * q[2];
  const Term query = Term(node, given[0]).cast(wide).reshape({q[0], k[1], rows, q[3]});
  const Term key = Term(node, given[1]).cast(wide), value = Term(node, given[2]).cast(wide);
  const Term product = query.matmul(key.transpose({0, 1, 3, 2})) * scale;
  KILN_ASSIGN(Value scores, product.cast(precise).reshape({q[0], q[1], q[2], k[2]}).value());
  KILN_ASSIGN(std::optional<Value> biased, modified(node, "score_mod", scores));
  if (!biased) return Items(node.outputCount(), Item::poisoned());
  KILN_ASSIGN(Value weights, node.softmax(*biased, 3));
  KILN_ASSIGN(std::optional<Value> changed, modified(node, "prob_mod", weights));
  if (!changed) return Items(node.outputCount(), Item::poisoned());
  const Term result = Term(node, *changed).cast(wide).reshape({q[0], k[1], rows, k[2]}).matmul(value);
  KILN_ASSIGN(Value out, result.cast(element).reshape({q[0], q[1], q[2], v[3]}).value());
  return toItems({out});
}

// Rotates pairs of elements by an angle per position.
Result<Values> rotaryEmbedding(NodeContext& node) {
  KILN_ASSIGN(Value input, node.input(0));
  KILN_ASSIGN(Value cosines, node.input(1));
  KILN_ASSIGN(Value sines, node.input(2));
  KILN_ASSIGN(std::int64_t heads, node.integer("num_heads", 0));
  KILN_ASSIGN(std::int64_t partial, node.integer("rotary_embedding_dim", 0));
  KILN_ASSIGN(std::int64_t interleaved, node.integer("interleaved", 0));
  const Shape given = dimsOf(input);
  KILN_ASSIGN(Term x, asHeads(node, input, heads));
  if (!x.ok()) return fail(x.value().error());
  const Shape shape = x.shape();  // [B, H, S, D]
  if (!shape[3].isStatic())
    return fail(Code::kUnimplemented, "the head's size must be known at compile time");
  const std::int64_t size = shape[3].value(), rotaryDim = partial ? partial : size, half = rotaryDim / 2;
  if (rotaryDim < 2 || rotaryDim % 2 || rotaryDim > size)
    return invalid("rotary_embedding_dim is odd or exceeds the head");
  auto angles = [&](Value cache) -> Result<Term> {
    Term table(node, cache);
    if (node.hasInput(3)) {
      if (rankOf(cache) != 2) return invalid("with position_ids the caches have rank 2");
      KILN_TRY(checkIndices(node, node.inputs()[3], dimsOf(cache)[0]));
      table = table.gather(Term(node, node.inputs()[3]), 0);
    }
    if (!table.ok()) return fail(table.value().error());
    if (table.shape() != Shape{shape[0], shape[2], Dim(half)})
      return invalid("the caches do not hold half of the rotated dimension for every position");
    return table.reshape({shape[0], Dim(1), shape[2], Dim(half)});
  };
  KILN_ASSIGN(Term cosine, angles(cosines));
  KILN_ASSIGN(Term sine, angles(sines));
  Term result(node, rotated(node, x, cosine, sine, interleaved != 0));
  if (given.size() == 3) result = joinedHeads(result);
  KILN_ASSIGN(Value value, result.value());
  return Values{value};
}

constexpr Operator kRows[] = {
    {"", "Attention", 23, kMaxOpset, attention},
    {"", "RotaryEmbedding", 23, kMaxOpset, rotaryEmbedding},
    {"ai.onnx.preview", "FlexAttention", 1, kMaxOpset, nullptr, flexAttention},
};

}  // namespace

std::span<const Operator> attentionOperators() {
  return kRows;
}

}  // namespace kiln::onnx
