// Scaled dot products of queries, keys and values.
#include <cmath>
#include <limits>

#include "compiler_core/frontend/torch/operators/operators.h"

namespace kiln::torch {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

struct Operands {
  Term query, key, value;    // [B, H, L, E], [B, G, S, E], [B, G, S, F]
  Shape outer;               // what stood before the last two dimensions of the query
  std::optional<Term> mask;  // broadcasts to [B, H, L, S]
};

// Rank 3 has no heads, rank 4 has; more dimensions of batch are one.
Term asFour(const Term& x) {
  if (!x.ok()) return x;
  Shape shape = x.shape();
  if (shape.size() == 3) shape.insert(shape.begin() + 1, Dim(1));
  while (shape.size() > 4) {
    shape[1] = shape[0] * shape[1];
    shape.erase(shape.begin());
  }
  return x.reshape(shape);
}

Result<Operands> read(NodeContext& node) {
  KILN_ASSIGN(const Value query, node.tensor("query"));
  KILN_ASSIGN(const Value key, node.tensor("key"));
  KILN_ASSIGN(const Value value, node.tensor("value"));
  for (Value one : {query, key, value})
    if (rankOf(one) < 3 || rankOf(one) != rankOf(query)) return unserved("ranks below 3 are not served");
  const Shape shape = dimsOf(query);
  Operands out{asFour({node, query}), asFour({node, key}), asFour({node, value}),
               Shape(shape.begin(), shape.end() - 2), std::nullopt};
  const std::string_view name = node.has("attn_bias") ? "attn_bias" : "attn_mask";
  KILN_ASSIGN(const Value mask, node.optionalTensor(name));
  if (mask) {
    if (rankOf(mask) > 4 && rankOf(mask) != rankOf(query))
      return unserved("a mask of this rank is not served");
    const bool isBool = elementOf(mask).isInteger(1);
    Term bias(node, mask);
    const mlir::Type type = elementOf(query);
    bias = isBool ? bias.select(Term(node, node.scalar(type, 0)), -kInfinity) : bias.cast(type);
    if (bias.ok() && bias.shape().size() == 3 && rankOf(query) == 3) {
      Shape lifted = bias.shape();
      lifted.insert(lifted.begin() + 1, Dim(1));
      bias = bias.reshape(lifted);
    } else if (rankOf(mask) > 4) {
      bias = asFour(bias);
    }
    out.mask = bias;
  }
  for (const Term* term : {&out.query, &out.key, &out.value})
    if (!term->ok()) return fail(term->value().error());
  return out;
}

// Query i sees key j if j <= i.
Term causal(NodeContext& node, mlir::Type type, const Dim& queries, const Dim& keys) {
  const Term i = frontend::countAlong(node, node.i64(), queries, 2, 4);
  const Term j = frontend::countAlong(node, node.i64(), keys, 3, 4);
  return (j <= i).select(Term(node, node.scalar(type, 0)), -kInfinity);
}

// A group of query heads shares one key head: [B, heads, L, E] as [B, key heads, group * L, E], so that keys
// and values need not be repeated.
Result<Values> attention(NodeContext& node) {
  node.ignore({"enable_gqa", "compute_log_sumexp", "return_debug_mask"});
  KILN_ASSIGN(const double dropout, node.real("dropout_p", 0.0));
  if (dropout != 0) return unserved("dropout that trains is random; export the model after .eval()");
  KILN_ASSIGN(const bool isCausal, node.flag("is_causal", false));
  KILN_ASSIGN(Operands given, read(node));
  const Shape q = given.query.shape(), k = given.key.shape(), v = given.value.shape();
  if (!q[3].isStatic()) return unserved("the head's size must be known at compile time");
  KILN_ASSIGN(const double scale, node.real("scale", 1.0 / std::sqrt(static_cast<double>(q[3].value()))));
  const mlir::Type type = elementOf(*given.query.value());
  if (isCausal) {
    const Term bias = causal(node, type, q[2], k[2]);
    given.mask = given.mask ? *given.mask + bias : bias;
  }
  std::int64_t group = 1;
  if (!(q[1] == k[1])) {
    if (!q[1].isStatic() || !k[1].isStatic() || k[1].value() < 1 || q[1].value() % k[1].value())
      return invalid("the query's heads are no multiple of the key's");
    group = q[1].value() / k[1].value();
  }
  const Dim rows = Dim(group) * q[2];
  Value mask;
  if (given.mask) {
    Term whole = given.mask->broadcast({q[0], q[1], q[2], k[2]});
    KILN_ASSIGN(mask, whole.reshape({q[0], k[1], rows, k[2]}).value());
  }
  KILN_ASSIGN(const Value query, given.query.reshape({q[0], k[1], rows, q[3]}).value());
  KILN_ASSIGN(const Value result,
              node.attention(query, *given.key.value(), *given.value.value(), mask, scale));
  Shape shape = given.outer;
  shape.append({q[2], v[3]});
  KILN_ASSIGN(const Value out, node.reshape(result, shape));
  Values results{out};
  results.resize(std::max<std::size_t>(node.outputCount(), 1));  // the others are for gradients
  return results;
}

constexpr auto kWide = Precision::kWidened;
constexpr Row kRows[] = {
    {"_scaled_dot_product_flash_attention_for_cpu", attention, kWide},
    {"scaled_dot_product_attention", attention, kWide},
};

}  // namespace

std::span<const Row> attentionRows() {
  return kRows;
}

}  // namespace kiln::torch
