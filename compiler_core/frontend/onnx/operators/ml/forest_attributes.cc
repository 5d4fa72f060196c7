#include "compiler_core/frontend/onnx/operators/ml/forest_attributes.h"

#include <cmath>
#include <map>

namespace kiln::onnx::ml {
namespace {

// A list of numbers, of f32 or as a tensor. `isWide` becomes true for f64.
Result<std::vector<double>> numbersOf(NodeContext& node, const std::string& list, const std::string& tensor,
                                      bool& isWide) {
  std::vector<double> numbers;
  if (!list.empty()) {
    KILN_ASSIGN(const std::vector<float> reals, node.reals(list, {}));
    numbers.assign(reals.begin(), reals.end());
  }
  const Attribute* given = node.attribute(tensor);
  if (!given) return numbers;
  if (!numbers.empty()) return invalid("attributes '" + list + "' and '" + tensor + "' are both given");
  if (!given->t) return invalid("attribute '" + tensor + "' is no tensor");
  KILN_ASSIGN(const std::vector<reference::Element> elements, node.numbers(*given->t));
  isWide |= given->t->type == static_cast<std::int32_t>(ElementType::kDouble);
  for (const reference::Element& element : elements) numbers.push_back(reference::toDouble(element));
  return numbers;
}

Status checkCount(std::string_view name, std::size_t count, std::size_t wanted, std::string_view as) {
  if (count == wanted) return {};
  return invalid("attribute '" + std::string(name) + "' has " + std::to_string(count) + " entries, '" +
                 std::string(as) + "' has " + std::to_string(wanted));
}

Result<Dims> integersOf(NodeContext& node, const std::string& name, std::size_t wanted, std::string_view as) {
  KILN_ASSIGN(Dims integers, node.integers(name, {}));
  KILN_TRY(checkCount(name, integers.size(), wanted, as));
  return integers;
}

// One flag for each node; none: all false.
Result<Dims> tracksOf(NodeContext& node, std::size_t wanted, std::string_view as) {
  KILN_ASSIGN(Dims tracks, node.integers("nodes_missing_value_tracks_true", {}));
  if (tracks.empty()) tracks.resize(wanted, 0);
  KILN_TRY(checkCount("nodes_missing_value_tracks_true", tracks.size(), wanted, as));
  return tracks;
}

// The nodes of a model by tree and id.
class ByIds {
 public:
  ByIds(NodeContext& node, const std::string& kind, std::int64_t targets) : node_(node), kind_(kind) {
    result_.forest.targets = targets;
  }

  Result<Ensemble> run() {
    KILN_TRY(nodes());
    KILN_TRY(link());
    KILN_TRY(roots());
    KILN_TRY(weights());
    KILN_ASSIGN(result_.baseValues,
                numbersOf(node_, "base_values", "base_values_as_tensor", result_.forest.isWide));
    KILN_ASSIGN(result_.transform, postTransformOf(node_));
    return std::move(result_);
  }

 private:
  struct Known {
    std::int64_t place;  // a branch, or ~leaf
    int parents = 0;
  };

  Status nodes() {
    constexpr const char* kIds = "nodes_nodeids";
    KILN_ASSIGN(ids_, node_.integers(kIds, {}));
    if (ids_.empty()) return invalid("attribute 'nodes_nodeids' is missing: there are no trees");
    const std::size_t count = ids_.size();
    KILN_ASSIGN(trees_, integersOf(node_, "nodes_treeids", count, kIds));
    KILN_ASSIGN(const Dims features, integersOf(node_, "nodes_featureids", count, kIds));
    KILN_ASSIGN(onTrue_, integersOf(node_, "nodes_truenodeids", count, kIds));
    KILN_ASSIGN(onFalse_, integersOf(node_, "nodes_falsenodeids", count, kIds));
    KILN_ASSIGN(const Dims tracks, tracksOf(node_, count, kIds));
    KILN_ASSIGN(const std::vector<std::string_view> modes, node_.texts("nodes_modes"));
    KILN_TRY(checkCount("nodes_modes", modes.size(), count, kIds));
    KILN_ASSIGN(const std::vector<double> values,
                numbersOf(node_, "nodes_values", "nodes_values_as_tensor", result_.forest.isWide));
    KILN_TRY(checkCount("nodes_values", values.size(), count, kIds));
    for (const char* unused : {"nodes_hitrates", "nodes_hitrates_as_tensor"}) node_.hasAttribute(unused);
    for (std::size_t i = 0; i < count; ++i) {
      KILN_ASSIGN(const std::optional<Test> test, testOf(modes[i], trees_[i], ids_[i]));
      Forest& forest = result_.forest;
      const std::int64_t place = test ? std::ssize(forest.branches) : ~std::ssize(forest.leaves);
      if (!known_.try_emplace({trees_[i], ids_[i]}, Known{place}).second)
        return invalid(placeOf(trees_[i], ids_[i]) + " is there twice");
      places_.push_back(place);
      if (test)
        forest.branches.push_back(
            {trees_[i], ids_[i], *test, features[i], values[i], {}, tracks[i] != 0, 0, 0});
      else
        forest.leaves.emplace_back();
    }
    return {};
  }

  // nullopt for a leaf.
  static Result<std::optional<Test>> testOf(std::string_view mode, std::int64_t tree, std::int64_t id) {
    constexpr std::string_view kNames[] = {"BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE",
                                           "BRANCH_GT",  "BRANCH_EQ", "BRANCH_NEQ"};
    if (mode == "LEAF") return std::optional<Test>();
    for (std::size_t i = 0; i < std::size(kNames); ++i)
      if (mode == kNames[i]) return std::optional(static_cast<Test>(i));
    return invalid(placeOf(tree, id) + ": mode '" + std::string(mode) +
                   "' is none of LEAF, BRANCH_LEQ, BRANCH_LT, "
                   "BRANCH_GTE, BRANCH_GT, BRANCH_EQ and BRANCH_NEQ");
  }

  Result<std::int64_t> child(std::size_t i, std::int64_t id, std::string_view side) {
    const auto found = known_.find({trees_[i], id});
    if (found == known_.end())
      return invalid(placeOf(trees_[i], ids_[i]) + ": its " + std::string(side) + " side leads to node " +
                     std::to_string(id) + ", which the tree does not have");
    if (++found->second.parents > 1)
      return invalid(placeOf(trees_[i], id) + ": two nodes lead to it, or both sides of one");
    return found->second.place;
  }

  Status link() {
    for (std::size_t i = 0; i < ids_.size(); ++i) {
      if (places_[i] < 0) continue;
      Branch& branch = result_.forest.branches[static_cast<std::size_t>(places_[i])];
      KILN_ASSIGN(branch.onTrue, child(i, onTrue_[i], "true"));
      KILN_ASSIGN(branch.onFalse, child(i, onFalse_[i], "false"));
    }
    return {};
  }

  // Of each tree the one node that none leads to, in the order in which trees are named first.
  Status roots() {
    std::map<std::int64_t, std::size_t> order;
    std::vector<std::int64_t> names;
    constexpr std::int64_t kNone = INT64_MIN;
    for (std::size_t i = 0; i < ids_.size(); ++i) {
      const auto [tree, isNew] = order.try_emplace(trees_[i], names.size());
      if (isNew) {
        names.push_back(trees_[i]);
        result_.forest.roots.push_back(kNone);
      }
      if (known_.find({trees_[i], ids_[i]})->second.parents > 0) continue;
      std::int64_t& root = result_.forest.roots[tree->second];
      if (root != kNone)
        return invalid(placeOf(trees_[i], ids_[i]) +
                       ": no node leads to it, and it is not the tree's first such");
      root = places_[i];
    }
    for (std::size_t i = 0; i < names.size(); ++i)
      if (result_.forest.roots[i] == kNone)
        return invalid("tree " + std::to_string(names[i]) +
                       " has no root: each of its nodes is on a cycle or behind one");
    return {};
  }

  Status weights() {
    const std::string all = kind_ + "_ids";
    KILN_ASSIGN(const Dims targets, node_.integers(all, {}));
    KILN_ASSIGN(const Dims trees, integersOf(node_, kind_ + "_treeids", targets.size(), all));
    KILN_ASSIGN(const Dims ids, integersOf(node_, kind_ + "_nodeids", targets.size(), all));
    KILN_ASSIGN(const std::vector<double> weights,
                numbersOf(node_, kind_ + "_weights", kind_ + "_weights_as_tensor", result_.forest.isWide));
    KILN_TRY(checkCount(kind_ + "_weights", weights.size(), targets.size(), all));
    Forest& forest = result_.forest;
    for (std::size_t i = 0; i < targets.size(); ++i) {
      const auto found = known_.find({trees[i], ids[i]});
      if (found == known_.end())
        return invalid(placeOf(trees[i], ids[i]) + " has a weight, but is not there");
      if (targets[i] < 0 || targets[i] >= forest.targets)
        return invalid(placeOf(trees[i], ids[i]) + ": " + kind_ + " " + std::to_string(targets[i]) +
                       " is none of " + std::to_string(forest.targets));
      // Old exporters gave branches weights too, which mean nothing.
      if (found->second.place < 0)
        forest.leaves[static_cast<std::size_t>(~found->second.place)].push_back({targets[i], weights[i]});
    }
    for (std::size_t i = 0; i < ids_.size(); ++i)
      if (places_[i] < 0 && forest.leaves[static_cast<std::size_t>(~places_[i])].empty())
        return invalid(placeOf(trees_[i], ids_[i]) + ": the leaf has no weight");
    return {};
  }

  NodeContext& node_;
  std::string kind_;
  Ensemble result_;
  Dims ids_, trees_, onTrue_, onFalse_;
  std::vector<std::int64_t> places_;  // by position in the lists
  std::map<std::pair<std::int64_t, std::int64_t>, Known> known_;
};

Result<std::int64_t> placeAt(std::int64_t id, std::int64_t isLeaf, const Forest& forest, std::size_t from) {
  const std::int64_t count = isLeaf ? std::ssize(forest.leaves) : std::ssize(forest.branches);
  if (id < 0 || id >= count)
    return invalid(placeOf(-1, static_cast<std::int64_t>(from)) + " leads to " +
                   (isLeaf ? "leaf " : "node ") + std::to_string(id) + " of " + std::to_string(count));
  return isLeaf ? ~id : id;
}

// Sets of numbers, one for each node that tests for membership, ended by NaN.
Status readMembers(NodeContext& node, Forest& forest) {
  KILN_ASSIGN(const std::vector<double> members, numbersOf(node, "", "membership_values", forest.isWide));
  std::size_t at = 0;
  for (Branch& branch : forest.branches) {
    if (branch.test != Test::kMember) continue;
    if (at >= members.size())
      return invalid(placeOf(-1, branch.id) + ": membership_values has no set for it");
    for (; at < members.size() && !std::isnan(members[at]); ++at) branch.members.push_back(members[at]);
    ++at;
  }
  return {};
}

Status readLeaves(NodeContext& node, Forest& forest) {
  KILN_ASSIGN(const std::vector<double> weights, numbersOf(node, "", "leaf_weights", forest.isWide));
  KILN_ASSIGN(const Dims targets, integersOf(node, "leaf_targetids", weights.size(), "leaf_weights"));
  for (std::size_t i = 0; i < targets.size(); ++i) {
    if (targets[i] < 0 || targets[i] >= forest.targets)
      return invalid("leaf " + std::to_string(i) + ": target " + std::to_string(targets[i]) + " is none of " +
                     std::to_string(forest.targets));
    forest.leaves.push_back({{targets[i], weights[i]}});
  }
  return {};
}

Status readBranches(NodeContext& node, Forest& forest) {
  constexpr const char* kAs = "nodes_splits";
  KILN_ASSIGN(const std::vector<double> values, numbersOf(node, "", kAs, forest.isWide));
  const std::size_t count = values.size();
  bool ignored = false;
  KILN_ASSIGN(const std::vector<double> modes, numbersOf(node, "", "nodes_modes", ignored));
  KILN_TRY(checkCount("nodes_modes", modes.size(), count, kAs));
  KILN_ASSIGN(const Dims features, integersOf(node, "nodes_featureids", count, kAs));
  KILN_ASSIGN(const Dims onTrue, integersOf(node, "nodes_truenodeids", count, kAs));
  KILN_ASSIGN(const Dims onFalse, integersOf(node, "nodes_falsenodeids", count, kAs));
  KILN_ASSIGN(const Dims trueIsLeaf, integersOf(node, "nodes_trueleafs", count, kAs));
  KILN_ASSIGN(const Dims falseIsLeaf, integersOf(node, "nodes_falseleafs", count, kAs));
  KILN_ASSIGN(const Dims tracks, tracksOf(node, count, kAs));
  node.hasAttribute("nodes_hitrates");
  forest.branches.resize(count);
  for (std::size_t i = 0; i < count; ++i) {
    Branch& branch = forest.branches[i];
    branch.id = static_cast<std::int64_t>(i);
    if (!(modes[i] >= 0 && modes[i] <= static_cast<double>(Test::kMember)))
      return invalid(placeOf(-1, branch.id) + ": there is no mode " + std::to_string(modes[i]));
    branch.test = static_cast<Test>(static_cast<int>(modes[i]));
    branch.feature = features[i];
    branch.value = values[i];
    branch.nanIsTrue = tracks[i] != 0;
    KILN_ASSIGN(branch.onTrue, placeAt(onTrue[i], trueIsLeaf[i], forest, i));
    KILN_ASSIGN(branch.onFalse, placeAt(onFalse[i], falseIsLeaf[i], forest, i));
  }
  return {};
}

}  // namespace

Result<Ensemble> ensembleByIds(NodeContext& node, const std::string& kind, std::int64_t targets) {
  return ByIds(node, kind, targets).run();
}

Result<Ensemble> ensembleByPosition(NodeContext& node) {
  Ensemble result;
  Forest& forest = result.forest;
  KILN_ASSIGN(forest.targets, node.integer("n_targets", 1));
  KILN_ASSIGN(const std::int64_t aggregate, node.integer("aggregate_function", 1));
  KILN_ASSIGN(const std::int64_t transform, node.integer("post_transform", 0));
  if (aggregate < 0 || aggregate > static_cast<std::int64_t>(Aggregate::kMax))
    return invalid("there is no aggregate_function " + std::to_string(aggregate));
  if (transform < 0 || transform > static_cast<std::int64_t>(PostTransform::kProbit))
    return invalid("there is no post_transform " + std::to_string(transform));
  result.aggregate = static_cast<Aggregate>(aggregate);
  result.transform = static_cast<PostTransform>(transform);
  KILN_TRY(readLeaves(node, forest));
  KILN_TRY(readBranches(node, forest));
  KILN_TRY(readMembers(node, forest));
  KILN_ASSIGN(const Dims roots, node.integers("tree_roots", {}));
  for (std::int64_t root : roots) {
    if (root < 0 || root >= std::ssize(forest.branches))
      return invalid("tree_roots names node " + std::to_string(root) + " of " +
                     std::to_string(forest.branches.size()));
    forest.roots.push_back(root);
  }
  if (forest.roots.empty()) return invalid("attribute 'tree_roots' is missing: there are no trees");
  return result;
}

}  // namespace kiln::onnx::ml
