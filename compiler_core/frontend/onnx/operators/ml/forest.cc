#include "compiler_core/frontend/onnx/operators/ml/forest.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace kiln::onnx::ml {
namespace {

constexpr std::int64_t kMaxDepth = 4096, kMaxRows = 1 << 26;

tl::unexpected<Error> wrong(const Branch& branch, const std::string& what) {
  return fail(Code::kInvalidArgument, placeOf(branch.tree, branch.id) + ": " + what);
}

// How many rows a branch takes, which is how many steps it may take to leave it.
std::int64_t rowsOf(const Branch& branch) {
  if (branch.test == Test::kMember) return std::max<std::int64_t>(1, 2 * std::ssize(branch.members));
  return branch.test == Test::kEqual || branch.test == Test::kNotEqual ? 2 : 1;
}

// Visits every branch once, from the roots, and gives the number of steps to the farthest leaf.
class Walk {
 public:
  Walk(const Forest& forest, std::int64_t features)
      : forest_(forest), features_(features), isVisited_(forest.branches.size()) {}

  Result<std::int64_t> run() {
    for (std::int64_t root : forest_.roots) {
      open_.push_back({root, 0});
      while (!open_.empty()) {
        const Open next = open_.back();
        open_.pop_back();
        KILN_TRY(visit(next));
      }
    }
    const auto missed = std::find(isVisited_.begin(), isVisited_.end(), false);
    if (missed != isVisited_.end())
      return wrong(forest_.branches[static_cast<std::size_t>(missed - isVisited_.begin())],
                   "no root leads to it: it is on a cycle, behind one, or of no tree");
    return deepest_;
  }

 private:
  struct Open {
    std::int64_t place, depth;
  };

  Status visit(Open open) {
    deepest_ = std::max(deepest_, open.depth);
    if (open.place < 0) return {};
    const auto at = static_cast<std::size_t>(open.place);
    const Branch& branch = forest_.branches[at];
    if (isVisited_[at]) return wrong(branch, "two nodes lead to it, or a cycle does");
    isVisited_[at] = true;
    if (branch.feature < 0 || branch.feature >= features_)
      return wrong(branch, "it tests feature " + std::to_string(branch.feature) + " of an input that has " +
                               std::to_string(features_));
    const std::int64_t depth = open.depth + rowsOf(branch);
    if (depth > kMaxDepth)
      return fail(Code::kUnimplemented, placeOf(branch.tree, branch.id) + ": trees deeper than " +
                                            std::to_string(kMaxDepth) + " tests are not served");
    open_.push_back({branch.onFalse, depth});
    open_.push_back({branch.onTrue, depth});
    return {};
  }

  const Forest& forest_;
  std::int64_t features_, deepest_ = 0;
  std::vector<bool> isVisited_;
  std::vector<Open> open_;
};

// Writes the rows of branches.
class Writer {
 public:
  Writer(const Forest& forest, bool isWide, Tables& tables)
      : forest_(forest), isWide_(isWide), tables_(tables) {}

  Status run() {
    tables_.leaves = std::ssize(forest_.leaves);
    std::int64_t rows = tables_.leaves;
    for (const Branch& branch : forest_.branches) {
      first_.push_back(rows);
      rows += rowsOf(branch);
      if (rows > kMaxRows)
        return fail(Code::kUnimplemented, "ensembles of more than " + std::to_string(kMaxRows) +
                                              " tests and leaves are not served");
    }
    tables_.ways = 3;
    for (std::int64_t leaf = 0; leaf < tables_.leaves; ++leaf) row(0, 0, leaf, leaf, leaf);
    for (const Branch& branch : forest_.branches) write(branch);
    for (std::int64_t root : forest_.roots) tables_.roots.push_back(rowOf(root));
    narrow();
    return {};
  }

 private:
  std::int64_t rowOf(std::int64_t place) const {
    return place < 0 ? ~place : first_[static_cast<std::size_t>(place)];
  }
  std::int64_t here() const { return std::ssize(tables_.limits); }
  void row(std::int64_t feature, double limit, std::int64_t below, std::int64_t above, std::int64_t nan) {
    tables_.features.push_back(feature);
    tables_.limits.push_back(limit);
    tables_.next.insert(tables_.next.end(), {below, above, nan});
  }
  // The largest number below `value` in the type of the comparison.
  double before(double value) const {
    constexpr double kLowest = -std::numeric_limits<double>::infinity();
    return isWide_ ? std::nextafter(value, kLowest)
                   : std::nextafterf(static_cast<float>(value), static_cast<float>(kLowest));
  }

  // Two rows: to `yes` where x is `value`, else to `no`.
  void equal(const Branch& branch, double value, std::int64_t yes, std::int64_t no, std::int64_t nan) {
    const std::int64_t second = here() + 1;
    const bool isLowest = value == -std::numeric_limits<double>::infinity();
    row(branch.feature, value, std::isnan(value) ? no : isLowest ? yes : second, no, nan);
    row(branch.feature, before(value), no, yes, nan);
  }

  void write(const Branch& branch) {
    const std::int64_t yes = rowOf(branch.onTrue), no = rowOf(branch.onFalse),
                       nan = branch.nanIsTrue ? yes : no, feature = branch.feature;
    const bool isNan = std::isnan(branch.value),
               isLowest = branch.value == -std::numeric_limits<double>::infinity();
    switch (branch.test) {
      case Test::kLessOrEqual:
        return row(feature, branch.value, yes, no, nan);
      case Test::kGreater:
        return row(feature, branch.value, no, isNan ? no : yes, nan);
      case Test::kLess:
        return row(feature, before(branch.value), isLowest ? no : yes, no, nan);
      case Test::kGreaterOrEqual:
        return row(feature, before(branch.value), isLowest ? yes : no, isNan ? no : yes, nan);
      case Test::kEqual:
        return equal(branch, branch.value, yes, no, nan);
      case Test::kNotEqual:  // NaN is not equal to anything
        return equal(branch, branch.value, no, yes, yes);
      case Test::kMember:
        for (std::size_t i = 0; i < branch.members.size(); ++i)
          equal(branch, branch.members[i], yes, i + 1 < branch.members.size() ? here() + 2 : no, nan);
        if (branch.members.empty()) row(feature, 0, no, no, nan);
    }
  }

  // Two ways where NaN goes as a greater number everywhere.
  void narrow() {
    for (std::size_t at = 0; at < tables_.next.size(); at += 3)
      if (tables_.next[at + 1] != tables_.next[at + 2]) return;
    tables_.ways = 2;
    std::size_t to = 0;
    for (std::size_t at = 0; at < tables_.next.size(); at += 3) {
      tables_.next[to++] = tables_.next[at];
      tables_.next[to++] = tables_.next[at + 1];
    }
    tables_.next.resize(to);
  }

  const Forest& forest_;
  bool isWide_;
  Tables& tables_;
  std::vector<std::int64_t> first_;  // rows of the branches
};

}  // namespace

std::string placeOf(std::int64_t tree, std::int64_t node) {
  return (tree < 0 ? "" : "tree " + std::to_string(tree) + ", ") + "node " + std::to_string(node);
}

Result<Tables> tabulate(const Forest& forest, std::int64_t features, bool isWide) {
  Tables tables;
  KILN_ASSIGN(tables.depth, Walk(forest, features).run());
  KILN_TRY(Writer(forest, isWide, tables).run());
  return tables;
}

std::vector<std::int64_t> targetsOfTrees(const Forest& forest) {
  std::vector<std::int64_t> targets, open;
  for (std::int64_t root : forest.roots) {
    std::int64_t target = -1;
    open.push_back(root);
    while (!open.empty()) {
      const std::int64_t place = open.back();
      open.pop_back();
      if (place >= 0) {
        const Branch& branch = forest.branches[static_cast<std::size_t>(place)];
        open.insert(open.end(), {branch.onTrue, branch.onFalse});
        continue;
      }
      const auto& weights = forest.leaves[static_cast<std::size_t>(~place)];
      if (weights.size() != 1 || (target >= 0 && target != weights.front().target)) return {};
      target = weights.front().target;
    }
    targets.push_back(target);
  }
  return targets;
}

}  // namespace kiln::onnx::ml
