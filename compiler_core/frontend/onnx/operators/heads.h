// Attention over heads: what the attention operators of all domains share.
#pragma once

#include <limits>

#include "compiler_core/frontend/onnx/graph/node_context.h"

namespace kiln::onnx {

// [batch, length, heads * size] as [batch, heads, length, size]; rank 4 stays. Fails where `heads` does not
// divide the last dimension.
Result<Term> asHeads(NodeContext& node, Value value, std::int64_t heads);
// The way back: [batch, heads, length, size] as [batch, length, heads * size].
Term joinedHeads(const Term& value);

// How many query heads share a key head.
Result<std::int64_t> groupOf(const Dim& query, const Dim& key, const Dim& value);

// What is added to scores: a tensor that broadcasts to [batch, heads, L, S], or nothing.
class Bias {
 public:
  // `type`: in which scores are calculated.
  Bias(NodeContext& node, mlir::Type type, Dim queries, Dim keys)
      : node_(node), type_(type), queries_(std::move(queries)), keys_(std::move(keys)) {}

  const std::optional<Term>& sum() const { return sum_; }

  // A tensor to add, or i1 with true where a key takes part. One for fewer keys says nothing about the
  // others: they take no part.
  Status mask(Value given);
  // Query i, which comes behind `before` keys, sees key j if i + before - left <= j <= i + before + right;
  // a negative number is no limit.
  void window(const Term& before, std::int64_t left, std::int64_t right);
  // The first `count` keys of each batch only; `count` broadcasts to rank 4.
  void first(const Term& count) { require(keyPositions() < count); }
  // Keys for which `condition` (i1) does not hold have `otherwise` added: minus infinity takes them out.
  void require(const Term& condition, double otherwise = -std::numeric_limits<double>::infinity());

  // 0, 1, ... along the keys, [1, 1, 1, S], and along the queries, [1, 1, L, 1].
  Term keyPositions() const { return countAlong(node_, i64(), keys_, 3, 4); }
  Term queryPositions() const { return countAlong(node_, i64(), queries_, 2, 4); }
  mlir::Type i64() const { return mlir::IntegerType::get(node_.context(), 64); }

 private:
  void add(const Term& bias) { sum_ = sum_ ? *sum_ + bias : bias; }

  NodeContext& node_;
  mlir::Type type_;
  Dim queries_, keys_;
  std::optional<Term> sum_;
};

// How scores become weights.
struct Scoring {
  std::optional<double> scale;  // none: 1 / sqrt(size of a head)
  double softcap = 0;           // 0: none
  mlir::Type softmaxType;       // null: f32, or f64 for f64
  // Scores are wanted as well: after the product (0), the soft cap (1), the bias (2) or the softmax (3).
  std::optional<std::int64_t> exposed;
};
struct Attended {
  Term result;                  // [batch, heads, L, size of a value], of the query's element type
  std::optional<Term> exposed;  // [batch, heads, L, S]
};
// query [batch, heads, L, E], key [batch, key heads, S, E], value [batch, key heads, S, F]; half precision is
// calculated in f32.
Result<Attended> attended(NodeContext& node, const Term& query, const Term& key, const Term& value,
                          const std::optional<Term>& bias, const Scoring& scoring);

// x [batch, heads, L, size] with its first elements turned in pairs by an angle each: cosine and sine
// broadcast to [batch, heads, L, half of the turned elements]. Pairs are neighbours where `interleaved`, else
// lie half of the turned elements apart.
Result<Value> rotated(NodeContext& node, const Term& x, const Term& cosine, const Term& sine,
                      bool interleaved);

}  // namespace kiln::onnx
