// Features of classical models: n-grams of integers, and what ai.onnx.ml does without strings.
#include "compiler_core/frontend/graph/formula.h"
#include "compiler_core/frontend/graph/index_math.h"
#include "compiler_core/frontend/onnx/formula/check_indices.h"
#include "compiler_core/frontend/onnx/operators/operators.h"

namespace kiln::onnx {
namespace {

tl::unexpected<Error> invalid(std::string message) {
  return fail(Code::kInvalidArgument, std::move(message));
}

// The pool's n-grams of one length: `grams` holds them one after the other, `first` is the number of the
// first.
struct Pool {
  std::int64_t length = 0, first = 0;
  llvm::ArrayRef<std::int64_t> grams;
  std::int64_t count() const { return static_cast<std::int64_t>(grams.size()) / length; }
};

// How often each n-gram of the pool occurs in the rows of x [rows, columns] with `skip` elements between
// neighbours: [rows, pool].
Term occurrences(NodeContext& node, const Term& x, const Pool& pool, std::int64_t skip) {
  const Shape shape = x.shape();
  const std::int64_t columns = shape[1].value(), span = (pool.length - 1) * (skip + 1) + 1,
                     starts = columns - span + 1;
  const mlir::Type f32 = mlir::Float32Type::get(node.context());
  if (starts <= 0) return {node, node.filled(f32, {shape[0], Dim(pool.count())}, 0)};
  std::optional<Term> equal;
  for (std::int64_t i = 0; i < pool.length; ++i) {
    std::vector<double> wanted;
    for (std::int64_t gram = 0; gram < pool.count(); ++gram)
      wanted.push_back(static_cast<double>(pool.grams[static_cast<std::size_t>(gram * pool.length + i)]));
    const Term elements(node, node.slice(*x.value(), {0, i * (skip + 1)}, {1, 1}, {shape[0], Dim(starts)}));
    const Term keys(node, node.table(elementOf(*x.value()), {1, pool.count(), 1}, wanted));
    const Term here = elements.reshape({shape[0], Dim(1), Dim(starts)}) == keys;
    equal = equal ? *equal & here : here;
  }
  return equal->cast(f32).reduce(ir::ReduceKind::Sum, {2});
}

Result<Values> tfIdfVectorizer(NodeContext& node) {
  KILN_ASSIGN(Value input, node.input(0));
  KILN_ASSIGN(std::int64_t shortest, node.integer("min_gram_length", 1));
  KILN_ASSIGN(std::int64_t longest, node.integer("max_gram_length", 1));
  KILN_ASSIGN(std::int64_t skips, node.integer("max_skip_count", 0));
  KILN_ASSIGN(std::string mode, node.text("mode", "TF"));
  KILN_ASSIGN(Dims counts, node.integers("ngram_counts", {}));
  KILN_ASSIGN(Dims indices, node.integers("ngram_indexes", {}));
  if (node.hasAttribute("pool_strings"))
    return fail(Code::kUnimplemented, "n-grams of strings are not served");
  KILN_ASSIGN(Dims grams, node.integers("pool_int64s", {}));
  if (mode != "TF" && mode != "IDF" && mode != "TFIDF") return invalid("attribute 'mode' is '" + mode + "'");
  constexpr std::int64_t kMost = 1 << 20;
  if (shortest < 1 || longest < shortest || longest > 64 || skips < 0 || skips > 64)
    return invalid("absurd lengths or skips of n-grams");
  std::int64_t width = 0;
  for (std::int64_t index : indices) {
    if (index < 0 || index >= kMost) return invalid("an index of an n-gram is outside of what is served");
    width = std::max(width, index + 1);
  }
  std::vector<double> weights(indices.size(), 1.0);
  if (const Attribute* given = node.attribute("weights")) {
    if (given->floats.size() != indices.size()) return invalid("there is not one weight per n-gram");
    weights.assign(given->floats.begin(), given->floats.end());
  }
  Shape shape = dimsOf(input);
  if (shape.empty() || shape.size() > 2 || !shape.back().isStatic())
    return fail(Code::kUnimplemented, "an input of that shape is not served");
  const bool isVector = shape.size() == 1;
  if (isVector) shape.insert(shape.begin(), Dim(1));
  const Term x = Term(node, input).reshape(shape);
  const mlir::Type f32 = mlir::Float32Type::get(node.context());
  Term result(node, node.filled(f32, {shape[0], Dim(width)}, 0));
  std::int64_t number = 0;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    const std::int64_t begin = counts[i],
                       end = i + 1 < counts.size() ? counts[i + 1] : static_cast<std::int64_t>(grams.size());
    Pool pool{static_cast<std::int64_t>(i) + 1, number, {}};
    if (begin < 0 || end < begin || end > static_cast<std::int64_t>(grams.size()) ||
        (end - begin) % pool.length)
      return invalid("ngram_counts do not divide the pool");
    pool.grams =
        llvm::ArrayRef(grams).slice(static_cast<std::size_t>(begin), static_cast<std::size_t>(end - begin));
    number += pool.count();
    if (number > static_cast<std::int64_t>(indices.size()))
      return invalid("there are fewer indices than n-grams");
    if (pool.count() == 0 || pool.length < shortest || pool.length > longest || !x.ok()) continue;
    if (pool.count() > kMost / std::max<std::int64_t>(1, width))
      return fail(Code::kUnimplemented, "a pool of that size is not served");
    Term found = occurrences(node, x, pool, 0);
    for (std::int64_t skip = 1; skip <= (pool.length > 1 ? skips : 0); ++skip)
      found = found + occurrences(node, x, pool, skip);
    if (mode == "IDF") found = min(found, 1.0);
    // Where each n-gram's number goes, times its weight.
    std::vector<double> places(static_cast<std::size_t>(pool.count() * width));
    for (std::int64_t gram = 0; gram < pool.count(); ++gram) {
      const auto at = static_cast<std::size_t>(pool.first + gram);
      places[static_cast<std::size_t>(gram * width + indices[at])] = mode == "TF" ? 1 : weights[at];
    }
    result = result + found.matmul(Term(node, node.table(f32, {pool.count(), width}, places)));
  }
  if (isVector) result = result.reshape({Dim(width)});
  KILN_ASSIGN(Value value, result.value());
  return Values{value};
}

// Columns by index.
Result<Values> arrayFeatureExtractor(NodeContext& node) {
  KILN_ASSIGN(Value x, node.input(0));
  KILN_ASSIGN(Value indices, node.input(1));
  if (rankOf(x) == 0) return invalid("the input is a scalar");
  KILN_ASSIGN(indices, node.reshape(indices, {ir::product(dimsOf(indices))}));
  KILN_TRY(checkIndices(node, indices, dimsOf(x).back()));
  KILN_ASSIGN(Value result, node.gather(x, indices, rankOf(x) - 1));
  if (rankOf(x) == 1) {
    KILN_ASSIGN(result, node.reshape(result, {Dim(1), dimsOf(result)[0]}));
  }
  return Values{result};
}

// 1 above the threshold, else 0.
Result<Values> binarizer(NodeContext& node) {
  KILN_ASSIGN(Value x, node.input(0));
  KILN_ASSIGN(float threshold, node.real("threshold", 0.0f));
  const Term value(node, x);
  KILN_ASSIGN(Value result, (value > threshold).cast(elementOf(x)).value());
  return Values{result};
}

constexpr Operator kRows[] = {
    {"", "TfIdfVectorizer", 9, kMaxOpset, tfIdfVectorizer},
    {"ai.onnx.ml", "ArrayFeatureExtractor", 1, 5, arrayFeatureExtractor},
    {"ai.onnx.ml", "Binarizer", 1, 5, binarizer},
};

}  // namespace

std::span<const Operator> featureOperators() {
  return kRows;
}

}  // namespace kiln::onnx
