// What a model will ask its user for.
#include "compiler_core/frontend/onnx/served/requirements.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "compiler_core/frontend/onnx/reader/parse.h"
#include "tests/support/onnx_builder.h"

namespace kiln::onnx {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using namespace testing_support;
using Longs = std::vector<std::int64_t>;

Requirements of(const OnnxBuilder& builder) {
  const std::string bytes = builder.build();
  const auto model = parseModel(asBytes(bytes));
  EXPECT_TRUE(model) << model.error().message;
  return model ? requirementsOf(*model) : Requirements();
}

std::vector<std::string> dimensionsOf(const Requirements& requirements) {
  std::vector<std::string> names;
  for (const OpenDimension& dim : requirements.dimensions) names.push_back(dim.name);
  return names;
}

std::vector<std::string> pinsOf(const Requirements& requirements, bool certain = true) {
  std::vector<std::string> names;
  for (const DecidingInput& pin : requirements.pins)
    if (pin.certain == certain) names.push_back(pin.name);
  return names;
}

TEST(Requirements, OpenDimensionsOnceEach) {
  OnnxBuilder model;
  model.input("x", {"N", 3, "", -1}).input("z", {"N", "M"}).input("w", {"K"}).output("y");
  model.initializer(onnxTensor("w", {1}, std::vector<float>{1})).node("Relu", {"x"}, {"y"});
  EXPECT_THAT(dimensionsOf(of(model)), ElementsAre("N", "x.2", "x.3", "M"));
}

TEST(Requirements, InputsThatDecideShapesThroughArithmeticButNotThroughShape) {
  OnnxBuilder model;
  model.input("x", {2, 3})
      .input("n", {}, kOnnxInt64)
      .input("axes", {""}, kOnnxInt64)
      .input("unused", {2}, kOnnxInt64)
      .output("y");
  model.initializer(onnxTensor("one", {1}, Longs{1}))
      .node("Shape", {"x"}, {"s"})
      .node("Add", {"n", "one"}, {"m"})
      .node("Concat", {"s", "m"}, {"to"}, {onnxInt("axis", 0)})
      .node("Expand", {"x", "to"}, {"e"}, {}, "grow")
      .node("ReduceSum", {"e", "axes"}, {"r"}, {}, "sum")
      .node("Gather", {"r", "unused"}, {"y"});
  const Requirements requirements = of(model);
  EXPECT_THAT(pinsOf(requirements), ElementsAre("n", "axes"));
  EXPECT_EQ(requirements.pins[0].node, "grow");
  EXPECT_EQ(requirements.pins[0].elements, 1u);
  EXPECT_EQ(requirements.pins[1].elements, 0u);
}

TEST(Requirements, ImagesAreNoPins) {
  OnnxBuilder model;
  model.input("x", {64, 64}).output("y");
  model.node("Cast", {"x"}, {"i"}, {onnxInt("to", kOnnxInt64)}).node("Reshape", {"x", "i"}, {"y"});
  EXPECT_THAT(of(model).pins, IsEmpty());
}

TEST(Requirements, ConditionsMayNeedAPinAlsoInsideBodies) {
  OnnxBuilder inner, onTrue, onFalse, model;
  onTrue.output("a").node("Reshape", {"x", "to"}, {"a"});
  onFalse.output("b").node("Neg", {"x"}, {"b"});
  model.input("x", {4}).input("to", {2}, kOnnxInt64).input("sr", {}, kOnnxInt64).output("y");
  model.initializer(onnxTensor("rate", {}, Longs{16000}))
      .node("Equal", {"sr", "rate"}, {"c"})
      .node("If", {"c"}, {"y"}, {onnxGraph("then_branch", onTrue), onnxGraph("else_branch", onFalse)});
  EXPECT_THAT(pinsOf(of(model)), ElementsAre("to"));
  EXPECT_THAT(pinsOf(of(model), /*certain=*/false), ElementsAre("sr"));
}

// Whatever an importer must know at compile time is asked for when it is an input.
TEST(Requirements, EveryOperandThatMustBeKnownIsAPin) {
  struct Case {
    const char* op;
    std::size_t operand;
    int type = kOnnxInt64;
    std::int64_t opset = 21;
  };
  for (const Case& one : std::initializer_list<Case>{{"Reshape", 1},
                                                     {"CumSum", 1},
                                                     {"DFT", 1},
                                                     {"DFT", 2},
                                                     {"STFT", 1},
                                                     {"STFT", 3},
                                                     {"Dropout", 2, kOnnxBool},
                                                     {"MelWeightMatrix", 0},
                                                     {"MelWeightMatrix", 2},
                                                     {"MelWeightMatrix", 4, kOnnxFloat},
                                                     {"SequenceAt", 1},
                                                     {"SequenceErase", 1},
                                                     {"SequenceInsert", 2},
                                                     {"SplitToSequence", 1},
                                                     {"Resize", 1, kOnnxFloat, 10},
                                                     {"Resize", 2, kOnnxFloat},
                                                     {"TopK", 1},
                                                     {"Tile", 1}}) {
    OnnxBuilder model(one.opset);
    std::vector<std::string> inputs(one.operand, "x");
    inputs.push_back("k");
    const std::vector<OnnxDim> dims =
        std::string_view(one.op) == "Resize" ? std::vector<OnnxDim>{4} : std::vector<OnnxDim>{};
    model.input("x", {2, 3, 4, 5}).input("k", dims, one.type).output("y").node(one.op, inputs, {"y"});
    EXPECT_THAT(pinsOf(of(model)), ElementsAre("k")) << one.op << " " << one.operand;
  }
}

// An exporter's If between sample rates: the value that the model compares with is one that runs.
TEST(Requirements, TheExampleOfAPinIsWhatTheModelComparesItWith) {
  for (const bool isNode : {true, false}) {
    OnnxBuilder onTrue, onFalse, model;
    onTrue.output("a").node("Neg", {"x"}, {"a"});
    onFalse.output("b").node("Abs", {"x"}, {"b"});
    const auto rate = onnxTensor("rate", {}, Longs{16000});
    model.input("x", {4}).input("sr", {}, kOnnxInt64).input("flag", {}, kOnnxBool).output("y").output("z");
    if (isNode)
      model.node("Constant", {}, {"rate"}, {onnxTensorAttribute("value", rate)});
    else
      model.initializer(rate);
    const std::vector<ProtoMessage> branches = {onnxGraph("then_branch", onTrue),
                                                onnxGraph("else_branch", onFalse)};
    model.node("Equal", {"rate", "sr"}, {"c"})
        .node("If", {"c"}, {"y"}, branches)
        .node("If", {"flag"}, {"z"}, branches);
    const Requirements requirements = of(model);
    ASSERT_EQ(requirements.pins.size(), 2u);
    EXPECT_EQ(requirements.pins[0].name, "sr");
    EXPECT_EQ(requirements.pins[0].example, 16000);
    EXPECT_EQ(requirements.pins[1].name, "flag");
    EXPECT_EQ(requirements.pins[1].example, 1);
  }
}

TEST(Requirements, UnservedOperatorsWithReasonsAlsoInsideBodiesAndFunctions) {
  OnnxBuilder body, model(17);
  body.output("a").node("Frobnicate", {"x"}, {"a"}, {}, "inside");
  OnnxFunction function("mine", "F", {"p"}, {"q"});
  function.node("Mystery", {"p"}, {"q"}, {}, "deep");
  model.input("x", {4})
      .input("c", {}, kOnnxBool)
      .output("y")
      .importDomain("mine", 1)
      .importDomain("other", 1);
  model.function(function)
      .node("If", {"c"}, {"t"}, {onnxGraph("then_branch", body), onnxGraph("else_branch", body)})
      .node("F", {"t"}, {"u"}, {}, "call", "mine")
      .node("Thing", {"u"}, {"v"}, {}, "custom", "other")
      .node("Swish", {"v"}, {"y"}, {}, "late");
  std::vector<std::string> nodes;
  for (const UnservedNode& node : of(model).unserved)
    nodes.push_back(node.node + " " + node.op + ": " + node.reason);
  EXPECT_THAT(nodes, ElementsAre("inside Frobnicate: this operator is not served yet",
                                 "inside Frobnicate: this operator is not served yet",
                                 "custom other:Thing: operators of domain 'other' are not served",
                                 HasSubstr("late Swish: served for opset 24 to "),
                                 "deep Mystery: this operator is not served yet"));
}

TEST(Requirements, InputsAndInitializersOfTypesThatNoBuildServes) {
  constexpr int kComplex = 14;
  OnnxBuilder model;
  model.input("numbers", {1}, kComplex).input("x", {2}).output("y");
  model.initializer(onnxTensor("unused", {0}, Longs{}).varint(2, kComplex))
      .initializer(onnxTensor("labels", {0}, Longs{}).varint(2, kComplex))
      .initializer(onnxTensor("words of old", {0}, Longs{}).varint(2, kComplex))
      .input("words of old", {0}, kComplex)  // with a default: a constant that nothing uses
      .node("Identity", {"labels"}, {"l"})
      .node("Neg", {"x"}, {"y"});
  std::vector<std::string> places;
  for (const UnservedNode& node : of(model).unserved)
    places.push_back(node.node + " " + node.op + ": " + node.reason);
  EXPECT_THAT(
      places,
      ElementsAre("numbers (input): element type complex64 is not served; tensors of numbers and bool are",
                  HasSubstr("labels (initializer): element type complex64")));
}

TEST(Requirements, StringsThatCannotBecomeNumbers) {
  OnnxBuilder model;
  model.input("words", {1}, kOnnxString)
      .output("y")
      .node("Cast", {"words"}, {"y"}, {onnxInt("to", 1)}, "number");
  const auto unserved = of(model).unserved;
  ASSERT_EQ(unserved.size(), 2u) << "the place, and the input that stays what it is";
  EXPECT_EQ(unserved[1].node, "number");
  OnnxBuilder served;
  served.input("words", {1}, kOnnxString)
      .initializer(onnxTensor("none", {0}, Longs{}).varint(2, kOnnxString))
      .output("y", kOnnxBool);
  served.node("Equal", {"words", "none"}, {"y"});
  EXPECT_THAT(of(served).unserved, IsEmpty());
}

TEST(Requirements, InputsThatAreNoTensorsOfKnownRank) {
  const auto whyNot = [](const ProtoMessage& type) {
    const std::string bytes = ProtoMessage()
                                  .message(7, ProtoMessage()
                                                  .message(11, ProtoMessage().text(1, "x").message(2, type))
                                                  .message(12, ProtoMessage().text(1, "x")))
                                  .bytes();
    const auto model = parseModel(asBytes(bytes));
    EXPECT_TRUE(model) << model.error().message;
    const auto unserved = requirementsOf(*model).unserved;
    return unserved.empty() ? "" : unserved.front().reason;
  };
  const auto tensor = [] { return ProtoMessage().varint(1, kOnnxFloat); };
  const ProtoMessage scalar = ProtoMessage().message(1, tensor().message(2, ProtoMessage()));
  EXPECT_EQ(whyNot(scalar), "");
  EXPECT_EQ(whyNot(ProtoMessage().message(4, ProtoMessage().message(1, scalar))), "");
  EXPECT_EQ(whyNot(ProtoMessage().message(1, tensor())), "an input without a rank is not served");
  EXPECT_EQ(whyNot(ProtoMessage().message(5, ProtoMessage())), "maps and sparse tensors are not served");
}

TEST(Requirements, SparseInitializers) {
  OnnxBuilder model;
  model.input("x", {2}).output("y").sparseInitializer("w").node("Add", {"x", "w"}, {"y"});
  const Requirements requirements = of(model);
  ASSERT_EQ(requirements.unserved.size(), 1u);
  EXPECT_EQ(requirements.unserved.front().node, "w");
  EXPECT_EQ(requirements.unserved.front().reason, "sparse initializers are not served");
}

TEST(Requirements, SequencesAreNamed) {
  OnnxBuilder model;
  model.sequenceInput("xs", {2}).output("y").node("ConcatFromSequence", {"xs"}, {"y"}, {onnxInt("axis", 0)});
  EXPECT_THAT(of(model).sequences, ElementsAre("xs"));
}

}  // namespace
}  // namespace kiln::onnx
