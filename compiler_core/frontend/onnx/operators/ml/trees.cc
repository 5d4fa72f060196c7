// Tree ensembles: the tables of forest.h as constants, walked by all rows and trees at once. A step reads for
// each its node's feature and limit, compares, and reads the next node; a loop takes as many as the deepest
// leaf is far. Leaves lead to themselves.
#include <algorithm>
#include <numeric>
#include <set>

#include "compiler_core/frontend/onnx/operators/ml/forest_attributes.h"
#include "compiler_core/frontend/onnx/operators/operators.h"

namespace kiln::onnx {
namespace {

using namespace ml;
using ir::ReduceKind;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

mlir::Type integerType(NodeContext& node, unsigned width) {
  return mlir::IntegerType::get(node.context(), width);
}

Term integerTable(NodeContext& node, const std::vector<std::int64_t>& values, unsigned width) {
  std::vector<reference::Element> elements;
  elements.reserve(values.size());
  for (std::int64_t value : values) elements.push_back({true, true, static_cast<std::uint64_t>(value), 0});
  return {node, node.table(integerType(node, width), {static_cast<std::int64_t>(values.size())}, elements)};
}

// The leaf in which each row [N, F] ends in each tree: i32 [N, T].
Term leavesOf(NodeContext& node, const Tables& tables, const Term& rows) {
  if (!rows.ok()) return rows;
  const Dim count = rows.shape()[0], width = rows.shape()[1];
  const auto trees = static_cast<std::int64_t>(tables.roots.size());
  Term at = integerTable(node, tables.roots, 32).reshape({Dim(1), Dim(trees)}).broadcast({count, Dim(trees)});
  if (tables.depth == 0 || !at.ok()) return at;
  const mlir::Type i32 = integerType(node, 32), i64 = integerType(node, 64);
  const Term features = integerTable(node, tables.features, 64), next = integerTable(node, tables.next, 32),
             limits = realTable(node, elementOf(*rows.value()), tables.limits),
             flat = rows.reshape({count * width}),
             first = Term(node, node.iota(i64, {count, Dim(1)}, 0)) * static_cast<double>(width.value()),
             above = Term(node, node.scalar(i32, 1)), nan = Term(node, node.scalar(i32, 2)),
             below = Term(node, node.scalar(i32, 0));
  for (const Term& table : {features, next, limits, flat, first})
    if (!table.ok()) return table;
  auto step = [&](Value, const Values& carried) -> GraphBuilder::Yielded {
    const Term here(node, carried.front());
    const Term x = flat.gather(first + features.gather(here, 0), 0);
    const Term other = tables.ways == 3 ? (x == x).select(above, nan) : above;
    const Term way = (x <= limits.gather(here, 0)).select(below, other);
    KILN_ASSIGN(Value result, next.gather(here * static_cast<double>(tables.ways) + way, 0).value());
    return std::optional(Values{result});
  };
  const Value depth = node.scalar(i64, static_cast<double>(tables.depth));
  auto walked = node.loop({depth, {}, Dim(tables.depth)}, {*at.value()}, step);
  if (!walked) return {node, fail(walked.error())};
  return {node, (**walked).front()};
}

// What trees add up to.
struct Sums {
  Term scores;                   // [N, K]
  std::optional<Term> isScored;  // i1 [N, K] or [1, K]: whether any tree said something; nullopt: all are
};

// Trees that add to one target each: their leaves' weights side by side, target by target.
Result<Sums> sumsByTree(NodeContext& node, const Ensemble& ensemble, const std::vector<std::int64_t>& targets,
                        const Term& leaves, ReduceKind kind) {
  const Forest& forest = ensemble.forest;
  std::vector<double> weights;
  for (const auto& leaf : forest.leaves) weights.push_back(leaf.front().weight);
  KILN_ASSIGN(const Value leafOf, leaves.value());
  const mlir::Type type = forest.isWide ? mlir::Type(mlir::Float64Type::get(node.context()))
                                        : mlir::Type(mlir::Float32Type::get(node.context()));
  const Term all = realTable(node, type, weights).gather(Term(node, leafOf), 0);
  KILN_ASSIGN(const Value given, all.value());
  const Dim rows = dimsOf(given)[0];
  Values parts;
  std::vector<double> isScored;
  std::int64_t at = 0;
  for (std::int64_t target = 0; target < forest.targets; ++target) {
    const auto count = static_cast<std::int64_t>(std::count(targets.begin(), targets.end(), target));
    isScored.push_back(count > 0);
    Term part(node, node.filled(type, {rows, Dim(1)}, 0));
    if (count > 0)
      part = Term(node, node.slice(given, {0, at}, {1, 1}, {rows, Dim(count)})).reduce(kind, {1}, true);
    KILN_ASSIGN(Value value, part.value());
    parts.push_back(value);
    at += count;
  }
  Sums sums{Term(node, node.concat(parts, 1)), std::nullopt};
  if (std::count(isScored.begin(), isScored.end(), 0.0) > 0)
    sums.isScored = realTable(node, type, isScored, {1, forest.targets}) > 0.0;
  return sums;
}

// Leaves that add to any targets: a row of weights for each.
Result<Sums> sumsByLeaf(NodeContext& node, const Ensemble& ensemble, const Term& leaves, ReduceKind kind) {
  const Forest& forest = ensemble.forest;
  const std::int64_t count = std::ssize(forest.leaves);
  if (forest.targets > (std::int64_t{1} << 28) / count)
    return unserved("more than 2^28 weights of leaves and targets are not served");
  const auto size = static_cast<std::size_t>(count * forest.targets);
  const double none = kind == ReduceKind::Sum ? 0 : kind == ReduceKind::Min ? kInfinity : -kInfinity;
  std::vector<double> weights(size, none), isScored(size, 0);
  for (std::int64_t leaf = 0; leaf < count; ++leaf)
    for (const LeafWeight& weight : forest.leaves[static_cast<std::size_t>(leaf)]) {
      const auto at = static_cast<std::size_t>(leaf * forest.targets + weight.target);
      double& sum = weights[at];
      sum = kind == ReduceKind::Sum   ? sum + weight.weight
            : kind == ReduceKind::Min ? std::min(sum, weight.weight)
                                      : std::max(sum, weight.weight);
      isScored[at] = 1;
    }
  const mlir::Type type = forest.isWide ? mlir::Type(mlir::Float64Type::get(node.context()))
                                        : mlir::Type(mlir::Float32Type::get(node.context()));
  Sums sums{realTable(node, type, weights, {count, forest.targets}).gather(leaves, 0).reduce(kind, {1}),
            std::nullopt};
  if (std::count(isScored.begin(), isScored.end(), 0.0) == 0) return sums;
  sums.isScored = realTable(node, type, isScored, {count, forest.targets})
                      .gather(leaves, 0)
                      .reduce(ReduceKind::Max, {1}) > 0.0;
  if (kind != ReduceKind::Sum) sums.scores = sums.isScored->select(sums.scores, 0.0);
  return sums;
}

// All trees on `rows`, aggregated, without base values.
Result<Sums> aggregated(NodeContext& node, Ensemble& ensemble, const Term& given) {
  Forest& forest = ensemble.forest;
  if (forest.targets < 1 || forest.targets > 1 << 24) return invalid("an absurd number of targets");
  KILN_ASSIGN(const Value x, given.value());
  forest.isWide |= elementOf(x).isF64();
  const Term rows = given.cast(forest.isWide ? mlir::Type(mlir::Float64Type::get(node.context()))
                                             : mlir::Type(mlir::Float32Type::get(node.context())));
  KILN_ASSIGN(Tables tables, tabulate(forest, dimsOf(x)[1].value(), forest.isWide));
  const ReduceKind kind = ensemble.aggregate == Aggregate::kMin   ? ReduceKind::Min
                          : ensemble.aggregate == Aggregate::kMax ? ReduceKind::Max
                                                                  : ReduceKind::Sum;
  constexpr std::int64_t kMostParts = 256;
  std::vector<std::int64_t> targets = targetsOfTrees(forest);
  const bool isByTree = !targets.empty() && forest.targets <= kMostParts;
  if (isByTree) {
    // Target by target, in the order of the trees.
    std::vector<std::size_t> order(targets.size());
    std::iota(order.begin(), order.end(), 0);
    std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
      return std::pair(targets[a], a) < std::pair(targets[b], b);
    });
    std::vector<std::int64_t> roots;
    for (std::size_t tree : order) roots.push_back(tables.roots[tree]);
    tables.roots = std::move(roots);
  }
  const Term leaves = leavesOf(node, tables, rows);
  KILN_ASSIGN(Sums sums, isByTree ? sumsByTree(node, ensemble, targets, leaves, kind)
                                  : sumsByLeaf(node, ensemble, leaves, kind));
  if (ensemble.aggregate == Aggregate::kAverage)
    sums.scores = sums.scores / static_cast<double>(forest.roots.size());
  return sums;
}

// With the base values, which are none or one for each target.
Result<Term> withBase(NodeContext& node, const Ensemble& ensemble, const Term& scores) {
  const std::vector<double>& base = ensemble.baseValues;
  if (base.empty()) return scores;
  if (std::ssize(base) != ensemble.forest.targets)
    return invalid("there are " + std::to_string(base.size()) + " base_values for " +
                   std::to_string(ensemble.forest.targets) + " targets or classes");
  KILN_ASSIGN(const Value value, scores.value());
  return scores + realTable(node, elementOf(value), base);
}

Result<Values> regressor(NodeContext& node) {
  KILN_ASSIGN(const Term rows, rowsOf(node));
  KILN_ASSIGN(const std::int64_t targets, node.integer("n_targets", 1));
  KILN_ASSIGN(Ensemble ensemble, ensembleByIds(node, "target", targets));
  KILN_ASSIGN(const std::string aggregate, node.text("aggregate_function", "SUM"));
  constexpr std::string_view kNames[] = {"AVERAGE", "SUM", "MIN", "MAX"};
  const auto* name = std::find(std::begin(kNames), std::end(kNames), aggregate);
  if (name == std::end(kNames)) return invalid("attribute 'aggregate_function' is '" + aggregate + "'");
  ensemble.aggregate = static_cast<Aggregate>(name - std::begin(kNames));
  KILN_ASSIGN(const Sums sums, aggregated(node, ensemble, rows));
  KILN_ASSIGN(const Term scores, withBase(node, ensemble, sums.scores));
  KILN_ASSIGN(const Term result,
              regressed(node, scores.cast(mlir::Float32Type::get(node.context())), ensemble.transform));
  KILN_ASSIGN(Value value, result.value());
  return Values{value};
}

Result<Values> treeEnsemble(NodeContext& node) {
  KILN_ASSIGN(const Value input, node.input(0));
  KILN_ASSIGN(const Term rows, rowsOf(node));
  KILN_ASSIGN(Ensemble ensemble, ensembleByPosition(node));
  KILN_ASSIGN(const Sums sums, aggregated(node, ensemble, rows));
  KILN_ASSIGN(const Term result, regressed(node, sums.scores, ensemble.transform));
  KILN_ASSIGN(Value value, result.cast(elementOf(input)).value());
  return Values{value};
}

// Whether all that leaves add is for the first of two classes: one score for both.
bool hasOneScore(const Forest& forest, bool& isShare) {
  isShare = true;
  for (const auto& leaf : forest.leaves)
    for (const LeafWeight& weight : leaf) {
      if (weight.target != 0) return false;
      isShare &= weight.weight >= 0;
    }
  return forest.targets == 2;
}

Result<Values> binaryClassifier(NodeContext& node, Ensemble& ensemble, const Dims& labels, const Term& rows,
                                bool isShare) {
  const std::vector<double> base = ensemble.baseValues;
  if (base.size() > 1)
    return unserved(
        "two base_values for trees that score one of two classes: runtimes disagree about the first; "
        "export with one");
  if (isShare && ensemble.transform == PostTransform::kLogistic && node.wantsOutput(0))
    return unserved(
        "post_transform LOGISTIC of weights none of which is negative: ONNX Runtime's labels are not "
        "those of the scores; take the scores alone");
  ensemble.forest.targets = 1;
  KILN_ASSIGN(const Sums sums, aggregated(node, ensemble, rows));
  KILN_ASSIGN(const Term score, withBase(node, ensemble, sums.scores));
  KILN_ASSIGN(const Value value, score.value());
  const Term isSecond = (score > (isShare ? 0.5 : 0.0)).reshape({dimsOf(value)[0]});
  KILN_ASSIGN(Value label, labelled(node, labels, isSecond.cast(integerType(node, 64))).value());
  KILN_ASSIGN(const Term both, bothScores(node, score.cast(mlir::Float32Type::get(node.context())),
                                          ensemble.transform, isShare));
  KILN_ASSIGN(Value scores, both.value());
  return Values{label, scores};
}

Result<Values> classifier(NodeContext& node) {
  KILN_ASSIGN(const Term rows, rowsOf(node));
  KILN_ASSIGN(const Dims labels, classLabels(node, "classlabels_int64s"));
  if (labels.size() < 2) return unserved("a classifier of fewer than two named classes is not served");
  KILN_ASSIGN(Ensemble ensemble, ensembleByIds(node, "class", static_cast<std::int64_t>(labels.size())));
  bool isShare = false;
  if (hasOneScore(ensemble.forest, isShare)) return binaryClassifier(node, ensemble, labels, rows, isShare);
  KILN_ASSIGN(const Sums sums, aggregated(node, ensemble, rows));
  if (labels.size() == 2 && sums.isScored)
    return unserved(
        "leaves that do not score both of two classes: runtimes disagree about the other; export with "
        "weights for both, or for the first alone");
  KILN_ASSIGN(const Term scores, withBase(node, ensemble, sums.scores));
  // The best of those that any tree scored.
  const bool isMasked = sums.isScored && ensemble.baseValues.empty();
  KILN_ASSIGN(const Value compared, (isMasked ? sums.isScored->select(scores, -kInfinity) : scores).value());
  const Term best(node, node.argReduce(ReduceKind::Max, compared, 1, false));
  KILN_ASSIGN(Value label, labelled(node, labels, best).value());
  KILN_ASSIGN(
      Value result,
      transformed(node, scores.cast(mlir::Float32Type::get(node.context())), ensemble.transform).value());
  return Values{label, result};
}

constexpr Operator kRows[] = {
    {"ai.onnx.ml", "TreeEnsemble", 5, 5, treeEnsemble},
    {"ai.onnx.ml", "TreeEnsembleClassifier", 1, 5, classifier},
    {"ai.onnx.ml", "TreeEnsembleRegressor", 1, 5, regressor},
};

}  // namespace

std::span<const Operator> mlTreeOperators() {
  return kRows;
}

}  // namespace kiln::onnx
