// Attention and MultiHeadAttention.
#include "compiler_core/frontend/onnx/operators/contrib/attention.h"

#include "compiler_core/frontend/onnx/operators/contrib/contrib.h"
#include "compiler_core/frontend/onnx/operators/shared.h"
#include "compiler_core/frontend/onnx/operators/unfit.h"

namespace kiln::onnx {
namespace {

struct Settings {
  std::int64_t heads = 0;
  Scoring scoring;
  double filter = 0;  // what masked scores have added
  bool causal = false;
};

Result<Settings> readSettings(NodeContext& node) {
  Settings s;
  KILN_ASSIGN(s.heads, headsOf(node, "num_heads"));
  KILN_ASSIGN(float scale, node.real("scale", 0));
  KILN_ASSIGN(float filter, node.real("mask_filter_value", -10000.0f));
  KILN_ASSIGN(std::int64_t causal, node.integer("unidirectional", 0));
  // 0 stands for the default, as in ONNX Runtime.
  if (scale != 0) s.scoring.scale = scale;
  s.filter = filter;
  s.causal = causal != 0;
  return s;
}

// Query, key and value by heads, with what came before; `before` keys are of the past.
struct Operands {
  Term query, key, value;
  Dim before;
};

// A mask in one of the contract's forms: how many keys each sample has, [batch]; behind which and from which
// on its keys lie, [2 * batch]; or which keys take part, [batch, keys] or [batch, queries, keys], where they
// are positive.
Status addMask(NodeContext& node, Bias& bias, Value mask, const Operands& operands, double filter) {
  const Shape shape = dimsOf(mask), q = operands.query.shape(), k = operands.key.shape();
  const Term given(node, mask);
  const Shape perSample{q[0], Dim(1), Dim(1), Dim(1)};
  if (shape.size() == 1 && shape[0] == q[0]) {
    bias.require(bias.keyPositions() < given.index().reshape(perSample), filter);
    return {};
  }
  if (shape.size() == 1 && shape[0] == q[0] * Dim(2)) {
    const Term ranges = given.index().reshape({Dim(2), q[0]});
    KILN_ASSIGN(Value both, ranges.value());
    const auto side = [&](std::int64_t row) {
      return Term(node, node.slice(both, {row, 0}, {1, 1}, Shape{Dim(1), q[0]})).reshape(perSample);
    };
    const Term at = bias.keyPositions();
    bias.require((at < side(0)) & (at >= side(1)), filter);
    return {};
  }
  if (shape.size() != 2 && shape.size() != 3)
    return fail(Code::kUnimplemented,
                "a mask of shape " + node.describe(shape) +
                    " is not served; [batch], [2 * batch], [batch, keys] and [batch, queries, keys] are");
  Shape wanted{q[0], k[2]}, spread{q[0], Dim(1), Dim(1), k[2]};
  if (shape.size() == 3) {
    wanted.insert(wanted.begin() + 1, q[2]);
    spread[2] = q[2];
  }
  if (shape != wanted) {
    Shape all(shape);
    all.append(wanted);
    return unfit("the mask has shape " + node.describe(shape) + " instead of " + node.describe(wanted), all);
  }
  bias.require((given > 0.0).reshape(spread), filter);
  return {};
}

struct Additions {
  Value mask, bias;
};

Result<Term> attend(NodeContext& node, const Settings& s, const Operands& operands, const Additions& more) {
  for (const Term* term : {&operands.query, &operands.key, &operands.value})
    if (!term->ok()) return fail(term->value().error());
  const mlir::Type element = elementOf(*operands.query.value());
  Bias bias(node, calculationType(element), operands.query.shape()[2], operands.key.shape()[2]);
  if (more.mask) KILN_TRY(addMask(node, bias, more.mask, operands, s.filter));
  if (s.causal) bias.window(extentOf(node, bias.i64(), operands.before), -1, 0);
  if (more.bias) KILN_TRY(bias.mask(more.bias));
  KILN_ASSIGN(Attended made,
              attended(node, operands.query, operands.key, operands.value, bias.sum(), s.scoring));
  return joinedHeads(made.result);
}

// `past` [..., length, size] in front of `now`.
Result<Term> grown(NodeContext& node, Value past, const Term& now) {
  KILN_ASSIGN(Value value, now.value());
  if (rankOf(past) != 4) return invalid("past_key and past_value have rank 4");
  return Term(node, node.concat({past, value}, 2));
}

// Columns `from` to `from + size` of the last dimension.
Result<Value> columns(NodeContext& node, Value value, std::int64_t from, std::int64_t size) {
  Shape shape = dimsOf(value);
  Dims offsets(shape.size(), 0), strides(shape.size(), 1);
  offsets.back() = from;
  shape.back() = Dim(size);
  return node.slice(value, offsets, strides, shape);
}

Result<Values> attention(NodeContext& node) {
  KILN_ASSIGN(Value x, node.input(0));
  KILN_ASSIGN(Value weights, node.input(1));
  KILN_TRY(refuseInput(node, 6, "past_sequence_length"));
  if (rankOf(x) != 3 || rankOf(weights) != 2) return invalid("input has rank 3 and weights rank 2");
  const Dim width = dimsOf(weights)[1];
  if (!width.isStatic())
    return fail(Code::kUnimplemented, "the columns of the weights must be known at compile time");
  const std::int64_t third = width.value() / 3;
  KILN_ASSIGN(Dims sizes, node.integers("qkv_hidden_sizes", {third, third, third}));
  KILN_ASSIGN(Value qkv, matmulOf(node, x, weights));
  if (node.hasInput(2)) {
    KILN_ASSIGN(qkv, (Term(node, qkv) + Term(node, node.inputs()[2])).value());
  }
  const auto optional = [&](std::size_t index) {
    return node.hasInput(index) ? node.inputs()[index] : Value();
  };
  return projectedAttention(node, {qkv, sizes, optional(3), optional(4), optional(5)});
}

// Two or three of query, key and value that lie packed: [batch, length, heads, parts, size] -> rank 4 each.
Result<Term> packedPart(NodeContext& node, Value packed, std::int64_t part) {
  const Shape shape = dimsOf(packed);
  const Term slice(node, node.slice(packed, {0, 0, 0, part, 0}, {1, 1, 1, 1, 1},
                                    Shape{shape[0], shape[1], shape[2], Dim(1), shape[4]}));
  return slice.reshape({shape[0], shape[1], shape[2], shape[4]}).transpose({0, 2, 1, 3});
}

// The part of the bias [query + key + value] for `value`, added to it; `from` moves on.
Result<Value> withBias(NodeContext& node, Value value, std::int64_t& from) {
  if (!node.hasInput(3)) return value;
  const Dim size = dimsOf(value).back();
  if (!size.isStatic())
    return fail(Code::kUnimplemented,
                "the last dimension must be known at compile time where there is a bias");
  KILN_ASSIGN(Value part, columns(node, node.inputs()[3], from, size.value()));
  from += size.value();
  return (Term(node, value) + Term(node, part)).value();
}

// The inputs query, key and value in the forms of the contract.
Result<Operands> multiHeadOperands(NodeContext& node, std::int64_t heads) {
  KILN_ASSIGN(Value query, node.input(0));
  const bool allPacked = rankOf(query) == 5;
  const bool pairPacked = !allPacked && node.hasInput(1) && rankOf(node.inputs()[1]) == 5;
  if (allPacked || pairPacked) {
    if (node.hasInput(3)) return fail(Code::kUnimplemented, "a bias with packed inputs is not served");
    Value packed = allPacked ? query : node.inputs()[1];
    const std::int64_t parts = allPacked ? 3 : 2;
    if (dimsOf(packed)[2] != Dim(heads) || dimsOf(packed)[3] != Dim(parts))
      return invalid("a packed input is not [batch, length, num_heads, " + std::to_string(parts) + ", size]");
    Result<Term> first = allPacked ? packedPart(node, packed, 0) : asHeads(node, query, heads);
    if (!first) return fail(first.error());
    KILN_ASSIGN(Term key, packedPart(node, packed, parts - 2));
    KILN_ASSIGN(Term value, packedPart(node, packed, parts - 1));
    return Operands{*first, key, value, Dim(0)};
  }
  KILN_ASSIGN(Value key, node.input(1));
  KILN_ASSIGN(Value value, node.input(2));
  std::int64_t from = 0;
  KILN_ASSIGN(query, withBias(node, query, from));
  // Keys and values of rank 4 have been through their projection.
  if (rankOf(key) == 3 && rankOf(value) == 3) {
    KILN_ASSIGN(key, withBias(node, key, from));
    KILN_ASSIGN(value, withBias(node, value, from));
  }
  KILN_ASSIGN(Term q, asHeads(node, query, heads));
  KILN_ASSIGN(Term k, asHeads(node, key, heads));
  KILN_ASSIGN(Term v, asHeads(node, value, heads));
  return Operands{q, k, v, Dim(0)};
}

Result<Values> multiHeadAttention(NodeContext& node) {
  KILN_ASSIGN(Settings s, readSettings(node));
  KILN_TRY(refuseInput(node, 8, "past_sequence_length"));
  KILN_TRY(refuseInput(node, 9, "cache_indirection"));
  KILN_ASSIGN(Operands operands, multiHeadOperands(node, s.heads));
  if (node.hasInput(6) != node.hasInput(7)) return invalid("past_key and past_value come together");
  if (node.hasInput(6)) {
    KILN_ASSIGN(operands.key, grown(node, node.inputs()[6], operands.key));
    KILN_ASSIGN(operands.value, grown(node, node.inputs()[7], operands.value));
    operands.before = dimsOf(node.inputs()[6])[2];
  }
  const auto optional = [&](std::size_t index) {
    return node.hasInput(index) ? node.inputs()[index] : Value();
  };
  KILN_ASSIGN(Term out, attend(node, s, operands, {optional(4), optional(5)}));
  Values results(3);
  KILN_ASSIGN(results[0], out.value());
  KILN_ASSIGN(results[1], operands.key.value());
  KILN_ASSIGN(results[2], operands.value.value());
  return results;
}

constexpr Operator kRows[] = {
    {kMicrosoft, "Attention", 1, 1, attention},
    {kMicrosoft, "MultiHeadAttention", 1, 1, multiHeadAttention},
};

}  // namespace

Result<Values> projectedAttention(NodeContext& node, const Projected& given) {
  KILN_ASSIGN(Settings s, readSettings(node));
  KILN_TRY(serveOnly(node, "do_rotary", 0));
  KILN_TRY(serveOnly(node, "past_present_share_buffer", 0));
  if (given.sizes.size() != 3) return invalid("qkv_hidden_sizes has not three numbers");
  std::int64_t from = 0;
  std::vector<Term> parts;
  for (const std::int64_t size : given.sizes) {
    if (size < 1) return invalid("qkv_hidden_sizes has a number below 1");
    KILN_ASSIGN(Value part, columns(node, given.qkv, from, size));
    KILN_ASSIGN(Term heads, asHeads(node, part, s.heads));
    parts.push_back(heads);
    from += size;
  }
  Operands operands{parts[0], parts[1], parts[2], Dim(0)};
  if (given.past) {
    const Shape shape = dimsOf(given.past);
    if (shape.size() != 5 || !(shape[0] == Dim(2)))
      return invalid("past is not [2, batch, heads, length, size]");
    const auto half = [&](std::int64_t which) {
      return Term(node, node.slice(given.past, {which, 0, 0, 0, 0}, {1, 1, 1, 1, 1},
                                   Shape{Dim(1), shape[1], shape[2], shape[3], shape[4]}))
          .reshape({shape[1], shape[2], shape[3], shape[4]})
          .value();
    };
    KILN_ASSIGN(Value pastKey, half(0));
    KILN_ASSIGN(Value pastValue, half(1));
    KILN_ASSIGN(operands.key, grown(node, pastKey, operands.key));
    KILN_ASSIGN(operands.value, grown(node, pastValue, operands.value));
    operands.before = shape[3];
  }
  KILN_ASSIGN(Term out, attend(node, s, operands, {given.mask, given.bias}));
  Values results(2);
  KILN_ASSIGN(results[0], out.value());
  if (!node.wantsOutput(1)) return results;
  Values present;
  for (const Term* term : {&operands.key, &operands.value}) {
    Shape shape{Dim(1)};
    shape.append(term->shape());
    KILN_ASSIGN(Value one, term->reshape(shape).value());
    present.push_back(one);
  }
  KILN_ASSIGN(results[1], node.concat(present, 0));
  return results;
}

std::span<const Operator> contribAttentionOperators() {
  return kRows;
}

}  // namespace kiln::onnx
