// Sizes that come from shapes are values at compile time, whatever exporters calculate with them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "compiler_core/analysis/padding.h"
#include "compiler_core/frontend/graph/symbolic_values.h"
#include "tests/compiler_core/frontend/run_model.h"

namespace kiln::testing_support {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using Longs = std::vector<std::int64_t>;
using Ranges = std::map<std::string, analysis::DimBounds>;

ProtoMessage number(std::string_view name, std::int64_t value) {
  return onnxTensor(name, {}, Longs{value});
}

// The shape of the first output, "N,80"; or why there is none.
std::string outputOf(const OnnxBuilder& model, const Ranges& ranges) {
  auto imported = importRanged(model.build(), ranges);
  if (!imported) return imported.error().message;
  const ir::Signature& output = (*imported)->captured.outputs.front();
  std::string text;
  for (std::size_t i = 0; i < output.shape.size(); ++i)
    text +=
        (i ? "," : "") + (output.dimNames[i].empty() ? std::to_string(output.shape[i]) : output.dimNames[i]);
  return text;
}

// "h" and "w" are scalars with the image's height and width.
OnnxBuilder image(const OnnxDim& batch, const OnnxDim& height, const OnnxDim& width, int type = kOnnxFloat) {
  OnnxBuilder model(18);
  model.input("x", {batch, 3, height, width}).output("y", type);
  model.initializer(number("zero", 0)).initializer(number("one", 1)).initializer(number("two", 2));
  model.initializer(number("three", 3)).initializer(onnxTensor("axis", {1}, Longs{0}));
  model.node("Shape", {"x"}, {"shape"})
      .node("Gather", {"shape", "two"}, {"h"})
      .node("Gather", {"shape", "three"}, {"w"})
      .node("Unsqueeze", {"h", "axis"}, {"h1"})
      .node("Unsqueeze", {"w", "axis"}, {"w1"})
      .node("Concat", {"h1", "w1"}, {"size"}, {onnxInt("axis", 0)});
  return model;
}

TEST(Symbolic, ExtentsThatAreNumbersAreNumbersBesideASymbolicBatch) {
  const Ranges batches{{"N", {1, 8}}};
  OnnxBuilder filled = image("N", 6, 4);
  filled.node("ConstantOfShape", {"size"}, {"y"});
  EXPECT_EQ(outputOf(filled, batches), "6,4");
  OnnxBuilder counted = image("N", 6, 4, kOnnxInt64);
  counted.node("Range", {"zero", "w", "one"}, {"y"});
  EXPECT_EQ(outputOf(counted, batches), "4");
  // As grids of anchors are exported: positions as floats, half a cell further.
  OnnxBuilder anchors = image("N", 6, 4);
  anchors.initializer(onnxTensor("f0", {}, std::vector<float>{0}))
      .initializer(onnxTensor("f1", {}, std::vector<float>{1}))
      .initializer(onnxTensor("half", {}, std::vector<float>{0.5f}));
  anchors.node("Cast", {"w"}, {"wf"}, {onnxInt("to", kOnnxFloat)})
      .node("Range", {"f0", "wf", "f1"}, {"cells"})
      .node("Add", {"cells", "half"}, {"centres"})
      .node("Expand", {"centres", "size"}, {"y"});
  EXPECT_EQ(outputOf(anchors, batches), "6,4");
  // Operators that want plain numbers.
  OnnxBuilder padded = image("N", 6, 4);
  padded.initializer(onnxTensor("none", {6}, Longs(6, 0)))
      .node("Concat", {"none", "size"}, {"pads"}, {onnxInt("axis", 0)})
      .node("Pad", {"x", "pads"}, {"y"});
  EXPECT_EQ(outputOf(padded, batches), "N,3,12,8");
  OnnxBuilder sliced = image("N", 6, 4);
  sliced.node("Div", {"w1", "two"}, {"step"})
      .node("Slice", {"x", "axis", "h1", "axes", "step"}, {"y"})
      .initializer(onnxTensor("axes", {1}, Longs{2}));
  EXPECT_EQ(outputOf(sliced, batches), "N,3,3,4");
}

TEST(Symbolic, ExtentsStayExtentsThroughFloats) {
  const Ranges sizes{{"H", {32, 640}}, {"W", {32, 640}}};
  // ceil(H / 32), floor(W * 0.5) and int(W / 3) of extents that were cast.
  const auto through = [&](std::string_view op, float by, std::string_view round) {
    OnnxBuilder model = image(1, "H", "W");
    model.initializer(onnxTensor("by", {}, std::vector<float>{by}))
        .node("Cast", {"h"}, {"hf"}, {onnxInt("to", kOnnxFloat)})
        .node(op, {"hf", "by"}, {"scaled"});
    if (!round.empty()) model.node(round, {"scaled"}, {"rounded"});
    model.node("Cast", {round.empty() ? "scaled" : "rounded"}, {"count"}, {onnxInt("to", kOnnxInt64)})
        .node("Unsqueeze", {"count", "axis"}, {"list"})
        .node("ConstantOfShape", {"list"}, {"y"});
    return outputOf(model, sizes);
  };
  EXPECT_EQ(through("Div", 32, "Ceil"), "(H + 31) floordiv 32");
  EXPECT_EQ(through("Mul", 0.5f, "Floor"), "H floordiv 2");
  EXPECT_EQ(through("Div", 3, ""), "H floordiv 3");
  EXPECT_EQ(through("Mul", 2, ""), "H * 2");
  EXPECT_THAT(through("Mul", 0.1f, "Floor"), HasSubstr("must be known at compile time"));
  OnnxBuilder counted = image(1, "H", "W");
  counted.initializer(onnxTensor("f0", {}, std::vector<float>{0}))
      .initializer(onnxTensor("f1", {}, std::vector<float>{1}))
      .node("Cast", {"w"}, {"wf"}, {onnxInt("to", kOnnxFloat)})
      .node("Range", {"f0", "wf", "f1"}, {"y"});
  EXPECT_EQ(outputOf(counted, sizes), "W");
}

// Down by windows of stride 2 and up again: the sizes meet where a number divides them, and arithmetic of a
// model's own comes out exactly too.
TEST(Symbolic, SizesOfMultiplesMeetAgain) {
  OnnxBuilder model(18);
  model.input("x", {1, 1, "H", "W"})
      .output("y")
      .initializer(onnxTensor("filter", {1, 1, 3, 3}, std::vector<float>(9, 0.5f)))
      .initializer(onnxTensor("twice", {4}, std::vector<float>{1, 1, 2, 2}));
  std::string last = "x";
  for (const char* name : {"2", "4", "8", "16", "32"}) {
    model.node("Conv", {last, "filter"}, {name},
               {onnxInts("pads", {1, 1, 1, 1}), onnxInts("strides", {2, 2})});
    last = name;
  }
  model.node("Resize", {"32", "", "twice"}, {"up16"}, {onnxText("mode", "nearest")})
      .node("Concat", {"up16", "16"}, {"both"}, {onnxInt("axis", 1)}, "join")
      .node("Resize", {"both", "", "twice"}, {"up8"}, {onnxText("mode", "nearest")})
      .node("Add", {"up8", "8"}, {"y"});
  EXPECT_EQ(outputOf(model, {{"H", {32, 1280, 32}}, {"W", {32, 640, 32}}}), "1,2,H floordiv 8,W floordiv 8");
  EXPECT_EQ(outputOf(model, {{"H", {96, 960, 96}}, {"W", {64, 640, 64}}}), "1,2,H floordiv 8,W floordiv 8");
  EXPECT_THAT(outputOf(model, {{"H", {32, 1280}}, {"W", {32, 640, 32}}}),
              AllOf(HasSubstr("node 'join'"), HasSubstr("of dimension 2 are the same is not known"),
                    HasSubstr("min:opt:max:multiple")));
  EXPECT_THAT(outputOf(model, {{"H", {16, 1280, 16}}, {"W", {32, 640, 32}}}),
              HasSubstr("floor((floor(H / 16) - 1) / 2) * 2 + 2 and floor(H / 16) of dimension 2"));
  OnnxBuilder padded = image(1, "H", "W");
  padded.initializer(number("stride", 32))
      .node("Mod", {"h", "stride"}, {"over"})
      .node("Div", {"h", "stride"}, {"steps"})
      .node("Add", {"over", "steps"}, {"count"})
      .node("Unsqueeze", {"count", "axis"}, {"list"})
      .node("ConstantOfShape", {"list"}, {"y"});
  EXPECT_EQ(outputOf(padded, {{"H", {32, 1280, 32}}, {"W", {64, 64}}}), "H floordiv 32");
}

TEST(Symbolic, WhatOnlyAnImageDecidesNamesNoPin) {
  OnnxBuilder model;
  model.input("x", {"N", 64}).output("y");
  model.node("NonZero", {"x"}, {"found"})
      .node("ReduceSum", {"found"}, {"sum"}, {onnxInt("keepdims", 0)})
      .initializer(number("zero", 0))
      .initializer(number("one", 1))
      .node("Range", {"zero", "sum", "one"}, {"y"});
  EXPECT_THAT(outputOf(model, {{"N", {2, 8}}}), HasSubstr("the input 'x', which no --pin can fix"));
}

// Refusals speak of dimensions by their names, in arithmetic that a user reads.
TEST(Symbolic, RefusalsHoldNothingOfMlir) {
  const Ranges sizes{{"N", {1, 8}}, {"H", {8, 64}}, {"W", {8, 64}}};
  std::map<std::string, OnnxBuilder> models;
  const auto halved = [&](const std::string& name) -> OnnxBuilder& {
    OnnxBuilder& model = models[name];
    model.input("x", {"N", 3, "H", "W"}).input("z", {"N", 3, "W", "H"}).output("y");
    return model.node("MaxPool", {"x"}, {"p"},
                      {onnxInts("kernel_shape", {2, 2}), onnxInts("strides", {2, 2})});
  };
  halved("Add").node("Add", {"p", "z"}, {"y"});
  halved("MatMul").node("MatMul", {"p", "z"}, {"y"});
  halved("Concat").node("Concat", {"p", "z"}, {"y"}, {onnxInt("axis", 1)});
  halved("Reshape").initializer(onnxTensor("to", {2}, Longs{7, -1})).node("Reshape", {"p", "to"}, {"y"});
  halved("Squeeze").initializer(onnxTensor("axes", {1}, Longs{0})).node("Squeeze", {"p", "axes"}, {"y"});
  halved("TopK").initializer(onnxTensor("k", {1}, Longs{40})).node("TopK", {"p", "k"}, {"y", "i"});
  halved("Split")
      .initializer(onnxTensor("parts", {2}, Longs{1, 2}))
      .node("Split", {"p", "parts"}, {"y", "rest"}, {onnxInt("axis", 2)});
  halved("SpaceToDepth").node("SpaceToDepth", {"p"}, {"y"}, {onnxInt("blocksize", 7)});
  halved("AveragePool")
      .node("AveragePool", {"p"}, {"y"},
            {onnxInts("kernel_shape", {3, 3}), onnxInts("strides", {3, 3}),
             onnxText("auto_pad", "SAME_UPPER")});
  halved("Einsum").node("Einsum", {"p", "z"}, {"y"}, {onnxText("equation", "abcd,abde->abce")});
  OnnxBuilder onTrue, onFalse;
  onTrue.output("a").node("Identity", {"p"}, {"a"});
  onFalse.output("b").node("Identity", {"z"}, {"b"});
  halved("If")
      .input("c", {}, kOnnxBool)
      .node("If", {"c"}, {"y"}, {onnxGraph("then_branch", onTrue), onnxGraph("else_branch", onFalse)});
  std::size_t refused = 0;
  for (const auto& [op, model] : models) {
    const auto imported = importRanged(model.build(), sizes);
    if (imported) continue;  // some are served one day
    ++refused;
    for (const char* word : {"s0", "s1", "s2", "d0", "floordiv", "ceildiv", "affine_map", "?x", "kiln."})
      EXPECT_EQ(imported.error().message.find(word), std::string::npos) << imported.error().message;
  }
  EXPECT_GE(refused, 8u);
  EXPECT_THAT(importRanged(models["Add"].build(), sizes).error().message, HasSubstr("floor(H / 2)"));
}

// A random calculation with an extent N of 1 to kMost; "r" is its result, an integer or a float.
constexpr std::int64_t kMost = 40;

class Calculation {
 public:
  explicit Calculation(unsigned seed) : random_(seed), model_(18) {
    model_.input("x", {"N", 3}).output("y", kOnnxInt64);
    model_.initializer(onnxTensor("axis", {1}, Longs{0}));
    model_.node("Shape", {"x"}, {"s"}, {onnxInt("end", 1)});
    integers_ = {"s"};
    for (int step = 0; step < 8; ++step) grow();
    model_.node("Identity", {integers_.back()}, {"y"});
  }
  std::string bytes() const { return model_.build(); }

 private:
  std::int64_t pick(std::int64_t from, std::int64_t to) {
    return std::uniform_int_distribution<std::int64_t>(from, to)(random_);
  }
  std::string any(const std::vector<std::string>& values) {
    return values[static_cast<std::size_t>(pick(0, static_cast<std::int64_t>(values.size()) - 1))];
  }
  std::string fresh() { return "v" + std::to_string(count_++); }
  std::string constant(std::int64_t value) {
    const std::string name = fresh();
    model_.initializer(onnxTensor(name, {1}, Longs{value}));
    return name;
  }
  std::string real(float value) {
    const std::string name = fresh();
    model_.initializer(onnxTensor(name, {1}, std::vector<float>{value}));
    return name;
  }
  void add(std::string_view op, const std::vector<std::string>& inputs, bool isFloat,
           const std::vector<ProtoMessage>& attributes = {}) {
    const std::string name = fresh();
    model_.node(op, inputs, {name}, attributes);
    (isFloat ? floats_ : integers_).push_back(name);
  }
  void grow() {
    static const float kReals[] = {0.5f, 0.25f, 2, 3, 32, 0.1f, 1.5f, 7};
    switch (pick(0, floats_.empty() ? 5 : 9)) {
      case 0:
        return add("Cast", {any(integers_)}, true, {onnxInt("to", kOnnxFloat)});
      case 1:
        return add(pick(0, 1) ? "Add" : "Sub", {any(integers_), any(integers_)}, false);
      case 2:
        return add(pick(0, 1) ? "Div" : "Mod", {any(integers_), constant(pick(1, 9))}, false);
      case 3:
        return add("Mul", {any(integers_), constant(pick(-3, 9))}, false);
      case 4:
        return add(pick(0, 1) ? "Min" : "Max", {any(integers_), constant(pick(-5, kMost))}, false);
      case 5:
        return add(pick(0, 1) ? "Neg" : "Abs", {any(integers_)}, false);
      case 6:
        return add(pick(0, 1) ? "Floor" : "Ceil", {any(floats_)}, true);
      case 7:
        return add(pick(0, 1) ? "Add" : "Sub", {any(floats_), pick(0, 1) ? any(floats_) : real(0.5f)}, true);
      case 8:
        return add(pick(0, 1) ? "Mul" : "Div", {any(floats_), real(kReals[pick(0, 7)])}, true);
      default:
        return add("Cast", {any(floats_)}, false, {onnxInt("to", kOnnxInt64)});
    }
  }

  std::mt19937 random_;
  OnnxBuilder model_;
  std::vector<std::string> integers_, floats_;
  int count_ = 0;
};

TEST(Symbolic, WhatIsFollowedIsWhatARunCalculates) {
  int followed = 0;
  for (unsigned seed = 0; seed < 200; ++seed) {
    const std::string bytes = Calculation(seed).bytes();
    auto ranged = importRanged(bytes, {{"N", {1, kMost}}});
    if (!ranged) continue;
    auto main = (*ranged)->captured.module->lookupSymbol<mlir::func::FuncOp>(ir::kMain);
    const auto elements = frontend::symbolicElements(main.front().getTerminator()->getOperand(0));
    if (!elements) continue;
    ++followed;
    for (const std::int64_t n :
         {std::int64_t{1}, std::int64_t{2}, std::int64_t{5}, std::int64_t{16}, kMost}) {
      auto fixed = import(bytes, {{"N", n}});
      ASSERT_TRUE(fixed) << fixed.error().message;
      auto outputs =
          reference::evaluate(*(*fixed)->captured.module, (*fixed)->captured.weights,
                              {floats({n, 3}, std::vector<float>(static_cast<std::size_t>(n) * 3))});
      ASSERT_TRUE(outputs) << outputs.error().message;
      const ir::Dim value = ir::substitute(elements->front(), {n});
      ASSERT_TRUE(value.isStatic());
      EXPECT_EQ(value.value(), *outputs->front().data<std::int64_t>())
          << "seed " << seed << ", N " << n << ": " << elements->front().text();
    }
  }
  EXPECT_GT(followed, 80);
}

// One look at the module answers for all symbols, each by itself.
TEST(Padding, EachSymbolHasItsOwnReason) {
  OnnxBuilder model(13);
  model.input("a", {"N", 4}).input("b", {"M", 4}).input("c", {"K", 4}).output("x").output("y").output("z");
  model.node("Relu", {"a"}, {"x"}, {}, "keeps")
      .node("Softmax", {"b"}, {"y"}, {onnxInt("axis", 0)}, "across")
      .node("Concat", {"b", "c"}, {"z"}, {onnxInt("axis", 0)}, "joins");
  auto made = importRanged(model.build(), {{"N", {1, 8}}, {"M", {1, 8}}, {"K", {1, 8}}});
  ASSERT_TRUE(made) << made.error().message;
  const auto reasons = analysis::whyNotPadded(*(*made)->captured.module, 3);
  ASSERT_EQ(reasons.size(), 3u);
  EXPECT_EQ(reasons[0], std::nullopt);
  EXPECT_THAT(reasons[1].value_or(""), HasSubstr("node 'across' looks across it"));
  EXPECT_THAT(reasons[2].value_or(""), HasSubstr("node 'joins' mixes it with other dimensions"));
}

// A body may do anything with what it captures.
TEST(Padding, NothingIsPaddedBesideABody) {
  OnnxBuilder body, model(13);
  body.input("i", {}, kOnnxInt64).input("more", {}, kOnnxBool).input("s", {"N", 4});
  body.output("again", kOnnxBool).output("t");
  body.node("Identity", {"more"}, {"again"}).node("Relu", {"s"}, {"t"});
  model.input("x", {"N", 4}).input("trips", {}, kOnnxInt64).input("other", {"M"}).output("y").output("z");
  model.node("Loop", {"trips", "", "x"}, {"y"}, {onnxGraph("body", body)}, "steps");
  model.node("Relu", {"other"}, {"z"});
  auto made = importRanged(model.build(), {{"N", {1, 8}}, {"M", {1, 8}}});
  ASSERT_TRUE(made) << made.error().message;
  for (const auto& reason : analysis::whyNotPadded(*(*made)->captured.module, 2))
    EXPECT_THAT(reason.value_or(""), HasSubstr("node 'steps' looks across it"));
}

}  // namespace
}  // namespace kiln::testing_support
