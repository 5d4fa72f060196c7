// Attention, FlexAttention and RotaryEmbedding.
#include "compiler_core/frontend/onnx/formula/formula.h"
#include "compiler_core/frontend/onnx/formula/index_math.h"
#include "compiler_core/frontend/onnx/operators/operators.h"
#include "compiler_core/frontend/onnx/operators/unfit.h"

namespace kiln::onnx {
namespace {

using ir::ReduceKind;
constexpr double kInfinity = std::numeric_limits<double>::infinity();

tl::unexpected<Error> invalid(std::string message) {
  return fail(Code::kInvalidArgument, std::move(message));
}

// [batch, length, heads * size] as [batch, heads, length, size]; rank 4 stays.
Result<Term> asHeads(NodeContext& node, Value value, std::int64_t heads) {
  const Shape shape = dimsOf(value);
  const Term term(node, value);
  if (shape.size() == 4) return term;
  if (shape.size() != 3) return invalid("Q, K and V have rank 3 or 4");
  const auto size = heads > 0 ? ir::exactDiv(shape[2], Dim(heads)) : std::nullopt;
  if (!size)
    return unfit("inputs of rank 3 need q_num_heads and kv_num_heads that divide their last dimension",
                 {shape[2]});
  return term.reshape({shape[0], shape[1], Dim(heads), *size}).transpose({0, 2, 1, 3});
}

// How many query heads share a key head.
Result<std::int64_t> groupOf(const Dim& query, const Dim& key, const Dim& value) {
  if (key == value && query == key) return 1;
  constexpr const char* kUnfit = "the query's heads are no multiple of those of key and value";
  const Shape all{query, key, value};
  if (!ir::isStatic(all) || !(key == value) || key.value() < 1 || query.value() % key.value() != 0)
    return unfit(kUnfit, all);
  return query.value() / key.value();
}

struct Settings {
  double scale = 0, softcap = 0;
  bool causal = false;
  std::int64_t queryHeads = 0, keyHeads = 0, outputMode = 0, left = -1, right = -1;
  mlir::Type softmaxType;  // null: that of the inputs
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
  s.scale = node.hasAttribute("scale") ? scale : 0;
  s.softcap = softcap;
  s.causal = causal != 0;
  if (s.outputMode < 0 || s.outputMode > 3)
    return invalid("qk_matmul_output_mode is " + std::to_string(s.outputMode));
  mlir::MLIRContext* context = node.context();
  if (precision == 1) s.softmaxType = mlir::Float32Type::get(context);
  if (precision == 10) s.softmaxType = mlir::Float16Type::get(context);
  if (precision == 11) s.softmaxType = mlir::Float64Type::get(context);
  if (precision == 16) s.softmaxType = mlir::BFloat16Type::get(context);
  if (precision && !s.softmaxType) return invalid("softmax_precision is " + std::to_string(precision));
  return s;
}

// What is added to the scores: a tensor that broadcasts to [batch, heads, L, S], or nothing.
class Bias {
 public:
  Bias(NodeContext& node, mlir::Type type, Dim queries, Dim keys)
      : node_(node), type_(type), queries_(std::move(queries)), keys_(std::move(keys)) {}

  const std::optional<Term>& sum() const { return sum_; }

  // A mask for fewer keys says nothing about the others: they take no part.
  Status mask(Value given) {
    const Shape shape = dimsOf(given);
    if (shape.empty() || shape.size() > 4)
      return invalid("attn_mask has rank " + std::to_string(shape.size()));
    const bool isBool = elementOf(given).isInteger(1);
    Term bias = isBool ? allowed(Term(node_, given)) : Term(node_, given).cast(type_);
    if (!bias.ok()) return fail(bias.value().error());
    if (!(shape.back() == keys_) && !(shape.back() == Dim(1))) {
      if (!shape.back().isStatic() || !keys_.isStatic())
        return fail(Code::kUnimplemented, "attn_mask of a length that is not known to be that of the keys");
      if (shape.back().value() > keys_.value()) return invalid("attn_mask is longer than the keys");
      Dims low(shape.size(), 0), high(shape.size(), 0);
      high.back() = keys_.value() - shape.back().value();
      bias = Term(
          node_, node_.pad(ir::PadMode::Constant, *bias.value(), node_.scalar(type_, -kInfinity), low, high));
    }
    add(bias);
    return {};
  }

  // Query i, which comes behind `before` keys, sees key j if i + before - left <= j <= i + before + right.
  void window(const Term& before, std::int64_t left, std::int64_t right) {
    const Term i = countAlong(node_, i64(), queries_, 2, 4), j = countAlong(node_, i64(), keys_, 3, 4);
    const Term distance = i + before - j;
    if (right >= 0) add(allowed(distance >= static_cast<double>(-right)));
    if (left >= 0) add(allowed(distance <= static_cast<double>(left)));
  }

  // The first `count` [batch] keys of each batch only.
  void first(const Term& count) { add(allowed(countAlong(node_, i64(), keys_, 3, 4) < count)); }

  mlir::Type i64() const { return mlir::IntegerType::get(node_.context(), 64); }

 private:
  Term allowed(const Term& condition) {
    return condition.select(Term(node_, node_.scalar(type_, 0)),
                            Term(node_, node_.scalar(type_, -kInfinity)));
  }
  void add(const Term& bias) { sum_ = sum_ ? *sum_ + bias : bias; }

  NodeContext& node_;
  mlir::Type type_;
  Dim queries_, keys_;
  std::optional<Term> sum_;
};

Result<Value> grown(NodeContext& node, Value past, const Term& now) {
  if (!now.ok()) return now.value();
  if (rankOf(past) != 4) return invalid("past_key and past_value have rank 4");
  return node.concat({past, *now.value()}, 2);
}

// A group of query heads shares one key head: [B, heads, rows, columns] as [B, key heads, group * rows,
// columns], so that keys and values need not be repeated. A dimension of 1 in place of the heads stays 1.
Term grouped(const Term& term, const Dim& keyHeads, std::int64_t group, const Dim& rows) {
  if (!term.ok() || group == 1) return term;
  Shape shape = term.shape();
  if (shape[1] == Dim(1))
    return term.reshape({shape[0], Dim(1), Dim(1), shape[2], shape[3]})
        .broadcast({shape[0], Dim(1), Dim(group), rows, shape[3]})
        .reshape({shape[0], Dim(1), Dim(group) * rows, shape[3]});
  return term.broadcast({shape[0], shape[1], rows, shape[3]})
      .reshape({shape[0], keyHeads, Dim(group) * rows, shape[3]});
}

struct Scores {
  Term result, exposed;
};

// The product, the scores and the probabilities as tensors of their own, for what kiln.attention does not
// have.
Scores spelledOut(const Term& query, const Term& key, const Term& value, const std::optional<Term>& bias,
                  const Settings& s, const Shape& whole) {
  const double root = std::sqrt(s.scale);
  const mlir::Type type = elementOf(*query.value());
  Term scores = (query * root).matmul((key * root).transpose({0, 1, 3, 2}));
  Term exposed = scores;
  if (s.softcap > 0) scores = (scores / s.softcap).unary(ir::UnaryKind::Tanh) * s.softcap;
  if (s.outputMode == 1) exposed = scores;
  if (bias) scores = scores + *bias;
  if (s.outputMode == 2) exposed = scores;
  if (s.softmaxType) scores = scores.cast(s.softmaxType);
  const Term most = scores.reduce(ReduceKind::Max, {3}, true);
  const Term dead = most == -kInfinity;  // no key takes part
  const Term power = (scores - dead.select(most.number(0), most)).unary(ir::UnaryKind::Exp);
  const Term sum = power.reduce(ReduceKind::Sum, {3}, true);
  Term weights = power / dead.select(sum.number(1), sum);
  if (bias)
    weights = (bias->reduce(ReduceKind::Max, {3}, true) == -kInfinity).select(weights.number(0), weights);
  weights = weights.cast(type);
  if (s.outputMode == 3) exposed = weights;
  return {weights.matmul(value), exposed.reshape(whole)};
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
  const Shape q = query.shape(), k = key.shape(), v = value.shape();
  KILN_ASSIGN(const std::int64_t group, groupOf(q[1], k[1], v[1]));

  // Half precision is widened: products and softmax run in f32 anyway.
  const mlir::Type wide = calculationType(element);
  Bias bias(node, wide, q[2], k[2]);
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
  std::optional<Term> mask = bias.sum();
  if (mask && mask->ok()) {
    Shape shape = mask->shape();
    while (shape.size() < 4) shape.insert(shape.begin(), Dim(1));
    mask = grouped(mask->reshape(shape), k[1], group, q[2]);
  }

  const Dim rows = Dim(group) * q[2];
  const Term queries = query.cast(wide).reshape({q[0], k[1], rows, q[3]});
  const Term keys = key.cast(wide), values = value.cast(wide);
  if (s.scale == 0 && !node.hasAttribute("scale")) {
    if (!q[3].isStatic()) return fail(Code::kUnimplemented, "the head's size must be known at compile time");
    s.scale = 1.0 / std::sqrt(static_cast<double>(q[3].value()));
  }
  std::optional<Term> result, exposed;
  const bool plain = !node.wantsOutput(3) && s.softcap <= 0 && (!s.softmaxType || !s.softmaxType.isF64());
  if (!queries.ok()) return fail(queries.value().error());
  if (plain) {
    Value full;
    if (mask) {
      KILN_ASSIGN(full, mask->broadcast({q[0], k[1], rows, k[2]}).value());
    }
    KILN_ASSIGN(Value a, queries.value());
    KILN_ASSIGN(Value b, keys.value());
    KILN_ASSIGN(Value c, values.value());
    result = Term(node, node.attention(a, b, c, full, s.scale));
  } else {
    const Scores scores = spelledOut(queries, keys, values, mask, s, {q[0], q[1], q[2], k[2]});
    result = scores.result;
    exposed = scores.exposed;
  }
  Term out = result->cast(element).reshape({q[0], q[1], q[2], v[3]});
  if (rankOf(given[0]) == 3) out = out.transpose({0, 2, 1, 3}).reshape({q[0], q[2], q[1] * v[3]});
  Values results(4);
  KILN_ASSIGN(results[0], out.value());
  KILN_ASSIGN(results[1], key.value());
  KILN_ASSIGN(results[2], value.value());
  if (exposed) {
    KILN_ASSIGN(results[3], exposed->cast(element).value());
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
  if (!node.hasAttribute("scale")) s.scale = 1.0 / std::sqrt(static_cast<double>(q[3].value()));
  const mlir::Type element = elementOf(given[0]), wide = calculationType(element);
  const mlir::Type precise = s.softmaxType ? s.softmaxType : wide;
  const Dim rows = Dim(group) * q[2];
  const Term query = Term(node, given[0]).cast(wide).reshape({q[0], k[1], rows, q[3]});
  const Term key = Term(node, given[1]).cast(wide), value = Term(node, given[2]).cast(wide);
  const Term product = query.matmul(key.transpose({0, 1, 3, 2})) * s.scale;
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
  auto part = [&](std::int64_t from, std::int64_t step, std::int64_t count) {
    return Term(node, node.slice(*x.value(), {0, 0, 0, from}, {1, 1, 1, step},
                                 Shape{shape[0], shape[1], shape[2], Dim(count)}));
  };
  const Term a = interleaved ? part(0, 2, half) : part(0, 1, half);
  const Term b = interleaved ? part(1, 2, half) : part(half, 1, half);
  Term real = cosine * a - sine * b, imaginary = sine * a + cosine * b;
  Values parts;
  const Shape pair{shape[0], shape[1], shape[2], Dim(half), Dim(1)};
  for (const Term& term : {real, imaginary}) {
    KILN_ASSIGN(Value value, (interleaved ? term.reshape(pair) : term).value());
    parts.push_back(value);
  }
  KILN_ASSIGN(Value joined, node.concat(parts, interleaved ? 4 : 3));
  if (interleaved) {
    KILN_ASSIGN(joined, node.reshape(joined, Shape{shape[0], shape[1], shape[2], Dim(rotaryDim)}));
  }
  if (rotaryDim < size) {
    KILN_ASSIGN(Value rest, part(rotaryDim, 1, size - rotaryDim).value());
    KILN_ASSIGN(joined, node.concat({joined, rest}, 3));
  }
  Term result(node, joined);
  if (given.size() == 3) result = result.transpose({0, 2, 1, 3}).reshape(given);
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
