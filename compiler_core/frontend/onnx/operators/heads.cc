#include "compiler_core/frontend/onnx/operators/heads.h"

#include "compiler_core/frontend/onnx/operators/unfit.h"

namespace kiln::onnx {
namespace {

using ir::ReduceKind;
constexpr double kInfinity = std::numeric_limits<double>::infinity();

tl::unexpected<Error> invalid(std::string message) {
  return fail(Code::kInvalidArgument, std::move(message));
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

// The product, the scores and the probabilities as tensors of their own, for what kiln.attention does not
// have.
Attended spelledOut(const Term& query, const Term& key, const Term& value, const std::optional<Term>& bias,
                    const Scoring& s) {
  const double root = std::sqrt(*s.scale);
  const mlir::Type type = elementOf(*query.value());
  Term scores = (query * root).matmul((key * root).transpose({0, 1, 3, 2}));
  Term exposed = scores;
  if (s.softcap > 0) scores = (scores / s.softcap).unary(ir::UnaryKind::Tanh) * s.softcap;
  if (s.exposed == 1) exposed = scores;
  if (bias) scores = scores + *bias;
  if (s.exposed == 2) exposed = scores;
  if (s.softmaxType) scores = scores.cast(s.softmaxType);
  const Term most = scores.reduce(ReduceKind::Max, {3}, true);
  const Term dead = most == -kInfinity;  // no key takes part
  const Term power = (scores - dead.select(most.number(0), most)).unary(ir::UnaryKind::Exp);
  const Term sum = power.reduce(ReduceKind::Sum, {3}, true);
  Term weights = power / dead.select(sum.number(1), sum);
  if (bias)
    weights = (bias->reduce(ReduceKind::Max, {3}, true) == -kInfinity).select(weights.number(0), weights);
  weights = weights.cast(type);
  if (s.exposed == 3) exposed = weights;
  return {weights.matmul(value), exposed};
}

}  // namespace

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

Term joinedHeads(const Term& value) {
  if (!value.ok()) return value;
  const Shape shape = value.shape();
  return value.transpose({0, 2, 1, 3}).reshape({shape[0], shape[2], shape[1] * shape[3]});
}

Result<std::int64_t> groupOf(const Dim& query, const Dim& key, const Dim& value) {
  if (key == value && query == key) return 1;
  constexpr const char* kUnfit = "the query's heads are no multiple of those of key and value";
  const Shape all{query, key, value};
  if (!ir::isStatic(all) || !(key == value) || key.value() < 1 || query.value() % key.value() != 0)
    return unfit(kUnfit, all);
  return query.value() / key.value();
}

Status Bias::mask(Value given) {
  const Shape shape = dimsOf(given);
  if (shape.empty() || shape.size() > 4) return invalid("attn_mask has rank " + std::to_string(shape.size()));
  const bool isBool = elementOf(given).isInteger(1);
  Term bias = isBool ? Term(node_, given).select(Term(node_, node_.scalar(type_, 0)), -kInfinity)
                     : Term(node_, given).cast(type_);
  if (!bias.ok()) return fail(bias.value().error());
  if (!(shape.back() == keys_) && !(shape.back() == Dim(1))) {
    if (!shape.back().isStatic() || !keys_.isStatic())
      return fail(Code::kUnimplemented, "attn_mask of a length that is not known to be that of the keys");
    if (shape.back().value() > keys_.value()) return invalid("attn_mask is longer than the keys");
    Dims low(shape.size(), 0), high(shape.size(), 0);
    high.back() = keys_.value() - shape.back().value();
    bias = Term(node_,
                node_.pad(ir::PadMode::Constant, *bias.value(), node_.scalar(type_, -kInfinity), low, high));
  }
  add(bias);
  return {};
}

void Bias::window(const Term& before, std::int64_t left, std::int64_t right) {
  const Term i = queryPositions(), j = keyPositions(), distance = i + before - j;
  if (right >= 0) require(distance >= static_cast<double>(-right));
  if (left >= 0) require(distance <= static_cast<double>(left));
}

void Bias::require(const Term& condition, double otherwise) {
  add(condition.select(Term(node_, node_.scalar(type_, 0)), otherwise));
}

Result<Attended> attended(NodeContext& node, const Term& query, const Term& key, const Term& value,
                          const std::optional<Term>& bias, const Scoring& scoring) {
  for (const Term* term : {&query, &key, &value})
    if (!term->ok()) return fail(term->value().error());
  const Shape q = query.shape(), k = key.shape(), v = value.shape();
  KILN_ASSIGN(const std::int64_t group, groupOf(q[1], k[1], v[1]));
  const Dim rows = Dim(group) * q[2];
  std::optional<Term> mask = bias;
  if (mask && mask->ok()) {
    Shape shape = mask->shape();
    while (shape.size() < 4) shape.insert(shape.begin(), Dim(1));
    mask = grouped(mask->reshape(shape), k[1], group, q[2]);
  }
  // Half precision is widened: products and softmax run in f32 anyway.
  const mlir::Type element = elementOf(*query.value()), wide = calculationType(element);
  const Term queries = query.cast(wide).reshape({q[0], k[1], rows, q[3]});
  const Term keys = key.cast(wide), values = value.cast(wide);
  Scoring s = scoring;
  if (!s.scale) {
    if (!q[3].isStatic()) return fail(Code::kUnimplemented, "the head's size must be known at compile time");
    s.scale = 1.0 / std::sqrt(static_cast<double>(q[3].value()));
  }
  if (!queries.ok()) return fail(queries.value().error());
  const Shape whole{q[0], q[1], q[2], v[3]};
  if (s.exposed || s.softcap > 0 || (s.softmaxType && s.softmaxType.isF64())) {
    const Attended out = spelledOut(queries, keys, values, mask, s);
    return Attended{out.result.cast(element).reshape(whole),
                    out.exposed->reshape({q[0], q[1], q[2], k[2]}).cast(element)};
  }
  Value full;
  if (mask) {
    KILN_ASSIGN(full, mask->broadcast({q[0], k[1], rows, k[2]}).value());
  }
  KILN_ASSIGN(Value a, queries.value());
  KILN_ASSIGN(Value b, keys.value());
  KILN_ASSIGN(Value c, values.value());
  const Term result(node, node.attention(a, b, c, full, *s.scale));
  return Attended{result.cast(element).reshape(whole), std::nullopt};
}

Result<Value> rotated(NodeContext& node, const Term& x, const Term& cosine, const Term& sine,
                      bool interleaved) {
  for (const Term* term : {&x, &cosine, &sine})
    if (!term->ok()) return fail(term->value().error());
  const Shape shape = x.shape();
  const std::int64_t size = shape[3].value(), half = cosine.shape()[3].value();
  auto part = [&](std::int64_t from, std::int64_t step, std::int64_t count) {
    return Term(node, node.slice(*x.value(), {0, 0, 0, from}, {1, 1, 1, step},
                                 Shape{shape[0], shape[1], shape[2], Dim(count)}));
  };
  const Term a = interleaved ? part(0, 2, half) : part(0, 1, half);
  const Term b = interleaved ? part(1, 2, half) : part(half, 1, half);
  const Term real = cosine * a - sine * b, imaginary = sine * a + cosine * b;
  Values parts;
  const Shape pair{shape[0], shape[1], shape[2], Dim(half), Dim(1)};
  for (const Term& term : {real, imaginary}) {
    KILN_ASSIGN(Value value, (interleaved ? term.reshape(pair) : term).value());
    parts.push_back(value);
  }
  KILN_ASSIGN(Value joined, node.concat(parts, interleaved ? 4 : 3));
  if (interleaved) {
    KILN_ASSIGN(joined, node.reshape(joined, Shape{shape[0], shape[1], shape[2], Dim(2 * half)}));
  }
  if (2 * half < size) {
    KILN_ASSIGN(Value rest, part(2 * half, 1, size - 2 * half).value());
    KILN_ASSIGN(joined, node.concat({joined, rest}, 3));
  }
  return joined;
}

}  // namespace kiln::onnx
