// Tree ensembles: every comparison, missing values, aggregation, labels; and hostile node tables.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "tests/compiler_core/frontend/run_model.h"

namespace kiln {
namespace {

using testing::ElementsAre;
using testing::FloatNear;
using testing::HasSubstr;
using testing::Pointwise;
using namespace testing_support;

using Longs = std::vector<std::int64_t>;
using Reals = std::vector<float>;

constexpr float kNan = std::numeric_limits<float>::quiet_NaN(),
                kInfinity = std::numeric_limits<float>::infinity();

// The lists of a TreeEnsembleRegressor or a TreeEnsembleClassifier, to be spoiled.
struct Trees {
  Longs trees, ids, features, onTrue, onFalse, tracks;
  std::vector<std::string> modes;
  Reals values;
  Longs weightTrees, weightIds, targets;
  Reals weights;

  Trees& branch(std::int64_t tree, std::int64_t id, const std::string& mode, std::int64_t feature,
                float value, std::int64_t yes, std::int64_t no, bool track = false) {
    trees.push_back(tree);
    ids.push_back(id);
    modes.push_back(mode);
    features.push_back(feature);
    values.push_back(value);
    onTrue.push_back(yes);
    onFalse.push_back(no);
    tracks.push_back(track);
    return *this;
  }
  Trees& weight(std::int64_t tree, std::int64_t id, float value, std::int64_t target = 0) {
    weightTrees.push_back(tree);
    weightIds.push_back(id);
    targets.push_back(target);
    weights.push_back(value);
    return *this;
  }
  Trees& leaf(std::int64_t tree, std::int64_t id, float value, std::int64_t target = 0) {
    return branch(tree, id, "LEAF", 0, 0, 0, 0).weight(tree, id, value, target);
  }
  // One test, `yes` and `no`.
  static Trees stump(const std::string& mode, float value, bool track = false, float yes = 1, float no = 2) {
    return Trees().branch(0, 0, mode, 0, value, 1, 2, track).leaf(0, 1, yes).leaf(0, 2, no);
  }

  std::vector<ProtoMessage> attributes(const std::string& kind) const {
    return {onnxInts("nodes_treeids", trees),         onnxInts("nodes_nodeids", ids),
            onnxTexts("nodes_modes", modes),          onnxInts("nodes_featureids", features),
            onnxReals("nodes_values", values),        onnxInts("nodes_truenodeids", onTrue),
            onnxInts("nodes_falsenodeids", onFalse),  onnxInts("nodes_missing_value_tracks_true", tracks),
            onnxInts(kind + "_treeids", weightTrees), onnxInts(kind + "_nodeids", weightIds),
            onnxInts(kind + "_ids", targets),         onnxReals(kind + "_weights", weights)};
  }
};

OnnxBuilder regressor(const Trees& trees, std::vector<ProtoMessage> more = {},
                      std::vector<OnnxDim> shape = {"N", 1}) {
  std::vector<ProtoMessage> attributes = trees.attributes("target");
  attributes.insert(attributes.end(), more.begin(), more.end());
  OnnxBuilder model(18);
  model.importDomain("ai.onnx.ml", 3).input("x", shape).output("y");
  return model.node("TreeEnsembleRegressor", {"x"}, {"y"}, attributes, "culprit", "ai.onnx.ml");
}

OnnxBuilder classifier(const Trees& trees, const Longs& labels, std::vector<ProtoMessage> more = {}) {
  std::vector<ProtoMessage> attributes = trees.attributes("class");
  attributes.push_back(onnxInts("classlabels_int64s", labels));
  attributes.insert(attributes.end(), more.begin(), more.end());
  OnnxBuilder model(18);
  model.importDomain("ai.onnx.ml", 3).input("x", {"N", 1}).output("l", kOnnxInt64).output("y");
  return model.node("TreeEnsembleClassifier", {"x"}, {"l", "y"}, attributes, "culprit", "ai.onnx.ml");
}

std::vector<HostTensor> outputsOf(const OnnxBuilder& model, const Reals& x, std::int64_t width = 1) {
  const auto rows = std::ssize(x) / width;
  auto imported = import(model.build(), {{"N", rows}});
  EXPECT_TRUE(imported) << (imported ? "" : imported.error().message);
  if (!imported) return {2, floats({}, {kNan})};
  auto outputs = reference::evaluate(*(*imported)->captured.module, (*imported)->captured.weights,
                                     {floats({rows, width}, x)});
  EXPECT_TRUE(outputs) << (outputs ? "" : outputs.error().message);
  return outputs ? *outputs : std::vector<HostTensor>(2, floats({}, {kNan}));
}
Reals regressed(const OnnxBuilder& model, const Reals& x, std::int64_t width = 1) {
  return floatsOf(outputsOf(model, x, width).front());
}

struct Answer {
  Longs labels;
  Reals scores;
};
Answer classified(const OnnxBuilder& model, const Reals& x) {
  const auto outputs = outputsOf(model, x);
  const auto* labels = outputs[0].data<std::int64_t>();
  return {{labels, labels + outputs[0].elements()}, floatsOf(outputs[1])};
}

void expectError(const OnnxBuilder& model, Code code, const std::string& words) {
  auto imported = import(model.build(), {{"N", 2}});
  ASSERT_FALSE(imported) << words;
  EXPECT_EQ(imported.error().code, code) << imported.error().message;
  EXPECT_THAT(imported.error().message, HasSubstr(words));
  EXPECT_THAT(imported.error().message, HasSubstr("culprit"));
}

bool holds(const std::string& mode, float x, float value, bool track) {
  if (track && x != x) return true;
  if (mode == "BRANCH_LEQ") return x <= value;
  if (mode == "BRANCH_LT") return x < value;
  if (mode == "BRANCH_GTE") return x >= value;
  if (mode == "BRANCH_GT") return x > value;
  return (mode == "BRANCH_EQ") == (x == value);
}

TEST(MlTrees, EveryModeAtEveryEdge) {
  const float tiny = std::numeric_limits<float>::denorm_min();
  const Reals x = {-kInfinity, -1, -tiny, -0.0f, 0, tiny, 0.99999994f, 1, 1.0000001f, 5, kInfinity, kNan};
  for (const char* mode : {"BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT", "BRANCH_EQ", "BRANCH_NEQ"})
    for (float value : {-kInfinity, 0.0f, -0.0f, 1.0f, kInfinity, kNan})
      for (bool track : {false, true}) {
        const Reals answers = regressed(regressor(Trees::stump(mode, value, track)), x);
        for (std::size_t i = 0; i < x.size(); ++i)
          EXPECT_EQ(answers[i], holds(mode, x[i], value, track) ? 1 : 2)
              << mode << " " << x[i] << " " << value << " " << track;
      }
}

// Two trees of different depths and modes, their nodes not in order, several targets.
Trees two() {
  return Trees()
      .branch(7, 0, "BRANCH_LEQ", 1, 0, 4, 2)
      .leaf(7, 4, 1)
      .branch(7, 2, "BRANCH_GT", 0, 10, 9, 3, true)
      .leaf(7, 9, 10, 1)
      .leaf(7, 3, 100)
      .leaf(3, 0, 1000, 1)
      .weight(3, 0, 0.5f);
}

TEST(MlTrees, SumsOfSeveralTreesAndTargets) {
  const Reals x = {0, -1, 20, 1, 5, 1, kNan, 1, 0, kNan};
  EXPECT_THAT(regressed(regressor(two(), {onnxInt("n_targets", 2)}, {"N", 2}), x, 2),
              ElementsAre(1.5f, 1000, 0.5f, 1010, 100.5f, 1000, 0.5f, 1010, 100.5f, 1000));
  EXPECT_THAT(
      regressed(regressor(two(), {onnxInt("n_targets", 2), onnxReals("base_values", {-1, 1})}, {"N", 2}),
                {0, -1}, 2),
      ElementsAre(0.5f, 1001));
  // One row without a first dimension.
  OnnxBuilder vector = regressor(two(), {onnxInt("n_targets", 2)}, {2});
  auto outputs = run(vector, {floats({2}, {0, -1})});
  ASSERT_TRUE(outputs) << outputs.error().message;
  EXPECT_THAT(outputs->at(0).shape, ElementsAre(1, 2));
}

TEST(MlTrees, EveryAggregate) {
  auto answers = [](const char* aggregate) {
    return regressed(regressor(two(),
                               {onnxInt("n_targets", 2), onnxText("aggregate_function", aggregate),
                                onnxReals("base_values", {1, 2})},
                               {"N", 2}),
                     {0, -1, 20, 1}, 2);
  };
  EXPECT_THAT(answers("SUM"), ElementsAre(2.5f, 1002, 1.5f, 1012));
  EXPECT_THAT(answers("AVERAGE"), ElementsAre(1.75f, 502, 1.25f, 507));
  EXPECT_THAT(answers("MIN"), ElementsAre(1.5f, 1002, 1.5f, 12));
  EXPECT_THAT(answers("MAX"), ElementsAre(2, 1002, 1.5f, 1002));
  // A target that no leaf adds to stays 0.
  for (const char* aggregate : {"SUM", "MIN", "MAX"})
    EXPECT_THAT(regressed(regressor(Trees::stump("BRANCH_LEQ", 0),
                                    {onnxInt("n_targets", 2), onnxText("aggregate_function", aggregate)}),
                          {1}),
                ElementsAre(2, 0));
  expectError(regressor(two(), {onnxInt("n_targets", 2), onnxText("aggregate_function", "MEAN")}, {"N", 2}),
              Code::kInvalidArgument, "'MEAN'");
}

// Trees of each class by themselves are added up class by class, in the order of the model.
TEST(MlTrees, TreesOfOneClassEach) {
  Trees trees;
  for (std::int64_t tree = 0; tree < 6; ++tree)
    trees.branch(tree, 0, "BRANCH_LT", 0, static_cast<float>(tree), 1, 2)
        .leaf(tree, 1, -1, tree % 3)
        .leaf(tree, 2, static_cast<float>(tree), tree % 3);
  const Answer answer = classified(classifier(trees, {5, 7, 9}), {-1, 0.5f, 4.5f, 9});
  EXPECT_THAT(answer.scores, ElementsAre(-2, -2, -2, -1, -2, -2, 3, 5, 1, 3, 5, 7));
  EXPECT_THAT(answer.labels, ElementsAre(5, 5, 7, 9));
  const Answer based =
      classified(classifier(trees, {5, 7, 9}, {onnxReals("base_values", {0, 0.5f, 9})}), {-1});
  EXPECT_THAT(based.scores, ElementsAre(-2, -1.5f, 7));
  EXPECT_THAT(based.labels, ElementsAre(9));
}

// A class that no tree scores is not the best of those below 0 (as in ONNX Runtime), unless it has a base
// value.
TEST(MlTrees, ClassesWithoutAScoreAreNoLabels) {
  const Trees trees =
      Trees().branch(0, 0, "BRANCH_LEQ", 0, 0.5f, 1, 2).leaf(0, 1, -0.8f, 0).leaf(0, 2, 0.7f, 2);
  const Answer answer = classified(classifier(trees, {5, 7, 9}), {-1, 2});
  EXPECT_THAT(answer.labels, ElementsAre(5, 9));
  EXPECT_THAT(answer.scores, ElementsAre(-0.8f, 0, 0, 0, 0, 0.7f));
  EXPECT_THAT(classified(classifier(trees, {5, 7, 9}, {onnxReals("base_values", {0, 0, 0})}), {-1, 2}).labels,
              ElementsAre(7, 9));
}

// What ONNX Runtime 1.32 gives for these models.
TEST(MlTrees, TwoClassesOfOneScore) {
  const Trees shares = Trees::stump("BRANCH_LEQ", 0.5f, false, 0.2f, 0.7f),
              mixed = Trees::stump("BRANCH_LEQ", 0.5f, false, -0.2f, 0.7f);
  const Reals x = {-1, 2};
  const Answer forest = classified(classifier(shares, {5, 7}), x);
  EXPECT_THAT(forest.labels, ElementsAre(5, 7));
  EXPECT_THAT(forest.scores, Pointwise(FloatNear(1e-6f), {0.8f, 0.2f, 0.3f, 0.7f}));
  const Answer raw = classified(classifier(mixed, {5, 7}), x);
  EXPECT_THAT(raw.labels, ElementsAre(5, 7));
  EXPECT_THAT(raw.scores, Pointwise(FloatNear(1e-6f), {0.2f, -0.2f, -0.7f, 0.7f}));
  const ProtoMessage logistic = onnxText("post_transform", "LOGISTIC");
  const Answer boosted =
      classified(classifier(mixed, {5, 7}, {logistic, onnxReals("base_values", {0.1f})}), x);
  EXPECT_THAT(boosted.labels, ElementsAre(5, 7));
  EXPECT_THAT(boosted.scores, Pointwise(FloatNear(1e-6f), {0.5249792f, 0.4750208f, 0.3100255f, 0.6899745f}));
  expectError(classifier(shares, {5, 7}, {logistic}), Code::kUnimplemented, "take the scores alone");
  expectError(classifier(mixed, {5, 7}, {onnxText("post_transform", "SOFTMAX")}), Code::kUnimplemented,
              "a score for each class");
  expectError(classifier(mixed, {5, 7}, {onnxReals("base_values", {1, 2})}), Code::kUnimplemented,
              "export with one");
  expectError(classifier(Trees::stump("BRANCH_LEQ", 0).weight(0, 1, 1, 1), {5, 7}), Code::kUnimplemented,
              "weights for both");
  expectError(classifier(shares, {5}), Code::kUnimplemented, "fewer than two");
}

TEST(MlTrees, TwoClassesOfTwoScores) {
  const Trees trees =
      Trees::stump("BRANCH_LEQ", 0, false, 0.8f, 0.3f).weight(0, 1, 0.2f, 1).weight(0, 2, 0.7f, 1);
  const Answer answer = classified(classifier(trees, {5, 7}), {-1, 2});
  EXPECT_THAT(answer.labels, ElementsAre(5, 7));
  EXPECT_THAT(answer.scores, ElementsAre(0.8f, 0.2f, 0.3f, 0.7f));
}

TEST(MlTrees, DeepTreesOfAChain) {
  Trees chain;
  constexpr std::int64_t kDepth = 300;
  for (std::int64_t i = 0; i < kDepth; ++i)
    chain.branch(0, 2 * i, "BRANCH_LEQ", 0, static_cast<float>(i), 2 * i + 1, 2 * i + 2)
        .leaf(0, 2 * i + 1, static_cast<float>(i));
  chain.leaf(0, 2 * kDepth, -1);
  EXPECT_THAT(regressed(regressor(chain), {-5, 17.5f, 299, 300}), ElementsAre(0, 18, 299, -1));
  Trees deep;
  constexpr std::int64_t kTooDeep = 5000;
  for (std::int64_t i = 0; i < kTooDeep; ++i)
    deep.branch(0, 2 * i, "BRANCH_LEQ", 0, 0, 2 * i + 1, 2 * i + 2).leaf(0, 2 * i + 1, 1);
  expectError(regressor(deep.leaf(0, 2 * kTooDeep, 1)), Code::kUnimplemented,
              "tree 0, node 8192: trees deeper than 4096");
}

TEST(MlTrees, HostileTablesAreNamedByTreeAndNode) {
  const Trees good = Trees::stump("BRANCH_LEQ", 0);
  auto wrong = [&](auto spoil, const std::string& words) {
    Trees trees = good;
    spoil(trees);
    expectError(regressor(trees), Code::kInvalidArgument, words);
  };
  wrong([](Trees& t) { t.onTrue[0] = 0; }, "tree 0, node 0: no root leads to it: it is on a cycle");
  wrong(
      [](Trees& t) {
        t.onFalse[0] = 3;
        t.branch(0, 3, "BRANCH_LT", 0, 0, 0, 2);
      },
      "tree 0 has no root");
  wrong([](Trees& t) { t.onTrue[0] = 2; }, "tree 0, node 2: two nodes lead to it, or both sides of one");
  wrong([](Trees& t) { t.onFalse[0] = 8; }, "tree 0, node 0: its false side leads to node 8");
  wrong([](Trees& t) { t.onTrue[0] = INT64_MIN; }, "which the tree does not have");
  wrong([](Trees& t) { t.ids[2] = 1; }, "tree 0, node 1 is there twice");
  wrong([](Trees& t) { t.features[0] = 1; }, "tree 0, node 0: it tests feature 1 of an input that has 1");
  wrong([](Trees& t) { t.features[0] = -1; }, "it tests feature -1");
  wrong([](Trees& t) { t.modes[1] = "BRANCH_MOST"; }, "tree 0, node 1: mode 'BRANCH_MOST'");
  wrong([](Trees& t) { t.targets[1] = 4; }, "tree 0, node 2: target 4 is none of 1");
  wrong([](Trees& t) { t.targets[1] = -1; }, "target -1");
  wrong([](Trees& t) { t.weightIds[1] = 7; }, "tree 0, node 7 has a weight, but is not there");
  wrong([](Trees& t) { t.weightIds[1] = 1; }, "tree 0, node 2: the leaf has no weight");
  wrong([](Trees& t) { t.leaf(0, 9, 1); }, "tree 0, node 9: no node leads to it");
  wrong([](Trees& t) { t.values.pop_back(); }, "'nodes_values' has 2 entries, 'nodes_nodeids' has 3");
  wrong([](Trees& t) { t.modes.pop_back(); }, "'nodes_modes' has 2 entries");
  wrong([](Trees& t) { t.tracks.pop_back(); }, "'nodes_missing_value_tracks_true' has 2 entries");
  wrong([](Trees& t) { t.weights.pop_back(); }, "'target_weights' has 1 entries, 'target_ids' has 2");
  wrong([](Trees& t) { t = {}; }, "there are no trees");
  // A cycle beside a root that leads elsewhere.
  wrong(
      [](Trees& t) {
        t.branch(0, 3, "BRANCH_LT", 0, 0, 4, 5)
            .branch(0, 4, "BRANCH_LT", 0, 0, 3, 6)
            .leaf(0, 5, 1)
            .leaf(0, 6, 1);
      },
      "tree 0, node 3: no root leads to it");
  expectError(regressor(good, {onnxInt("n_targets", INT64_MAX)}), Code::kInvalidArgument,
              "absurd number of targets");
  expectError(regressor(good, {onnxReals("base_values", {1, 2})}), Code::kInvalidArgument,
              "2 base_values for 1");
  expectError(regressor(good, {onnxText("post_transform", "LOGISTIC")}), Code::kUnimplemented,
              "put the function behind the node");
  expectError(
      regressor(good, {onnxTensorAttribute("nodes_values_as_tensor", onnxTensor("", {3}, Reals{1, 2, 3}))}),
      Code::kInvalidArgument, "both given");
}

// TreeEnsemble, which names nodes and leaves by their position.
struct Positions {
  Reals splits = {1, 5}, modes = {0, 6}, weights = {10, 20, 30}, members = {2, 3, kNan};
  Longs features = {0, 0}, onTrue = {1, 0}, onFalse = {2, 1}, trueLeafs = {0, 1}, falseLeafs = {1, 1},
        targets = {0, 0, 0}, roots = {0};

  OnnxBuilder model(std::vector<ProtoMessage> more = {}) const {
    auto tensor = [](const char* name, const Reals& values) {
      return onnxTensorAttribute(name, onnxTensor("", {std::ssize(values)}, values));
    };
    // Modes are bytes: raw_data of a TensorProto of type uint8.
    ProtoMessage bytes;
    std::string raw;
    for (float mode : modes) raw.push_back(static_cast<char>(mode));
    bytes.varint(1, raw.size()).varint(2, kOnnxUint8).text(9, raw);
    std::vector<ProtoMessage> attributes = {tensor("nodes_splits", splits),
                                            onnxTensorAttribute("nodes_modes", bytes),
                                            tensor("leaf_weights", weights),
                                            tensor("membership_values", members),
                                            onnxInts("nodes_featureids", features),
                                            onnxInts("nodes_truenodeids", onTrue),
                                            onnxInts("nodes_falsenodeids", onFalse),
                                            onnxInts("nodes_trueleafs", trueLeafs),
                                            onnxInts("nodes_falseleafs", falseLeafs),
                                            onnxInts("leaf_targetids", targets),
                                            onnxInts("tree_roots", roots),
                                            onnxInt("n_targets", 1)};
    attributes.insert(attributes.end(), more.begin(), more.end());
    OnnxBuilder model(21);
    model.importDomain("ai.onnx.ml", 5).input("x", {"N", 1}).output("y");
    return model.node("TreeEnsemble", {"x"}, {"y"}, attributes, "culprit", "ai.onnx.ml");
  }
};

TEST(MlTrees, NodesByPositionWithSetsOfMembers) {
  // x <= 9 ? (x in {2, 3} ? 10 : 20) : 30
  Positions trees;
  trees.splits[0] = 9;
  EXPECT_THAT(regressed(trees.model(), {2, 3, 4, 9, 10, kNan}), ElementsAre(10, 10, 20, 20, 30, 30));
  trees.roots = {0, 1};
  expectError(trees.model(), Code::kInvalidArgument, "node 1: two nodes lead to it, or a cycle does");
  Positions wrong;
  wrong.onTrue[0] = 2;
  expectError(wrong.model(), Code::kInvalidArgument, "node 0 leads to node 2 of 2");
  wrong = {};
  wrong.onFalse[1] = 3;
  expectError(wrong.model(), Code::kInvalidArgument, "node 1 leads to leaf 3 of 3");
  wrong = {};
  wrong.onTrue[1] = 0;
  wrong.trueLeafs[1] = 0;
  expectError(wrong.model(), Code::kInvalidArgument, "node 0: two nodes lead to it, or a cycle does");
  wrong = {};
  wrong.members = {};
  expectError(wrong.model(), Code::kInvalidArgument, "node 1: membership_values has no set");
  wrong = {};
  wrong.modes[1] = 9;
  expectError(wrong.model(), Code::kInvalidArgument, "node 1: there is no mode 9");
  wrong = {};
  wrong.roots = {2};
  expectError(wrong.model(), Code::kInvalidArgument, "tree_roots names node 2 of 2");
  wrong = {};
  wrong.roots = {};
  expectError(wrong.model(), Code::kInvalidArgument, "there are no trees");
  wrong = {};
  wrong.targets[2] = 1;
  expectError(wrong.model(), Code::kInvalidArgument, "leaf 2: target 1 is none of 1");
  expectError(Positions().model({onnxInt("aggregate_function", 4)}), Code::kInvalidArgument,
              "aggregate_function 4");
  expectError(Positions().model({onnxInt("post_transform", -1)}), Code::kInvalidArgument,
              "post_transform -1");
}

}  // namespace
}  // namespace kiln
