// If, Loop, Scan, functions, sequences and optionals, by value; and what is refused, with which words.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/compiler_core/frontend/run_model.h"

namespace kiln {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using namespace testing_support;

HostTensor truth(bool value) {
  return HostTensor::of(DType::kBool, {}, std::vector<std::uint8_t>{value});
}

std::vector<float> result(const OnnxBuilder& builder, const std::vector<HostTensor>& inputs,
                          std::size_t index = 0) {
  auto outputs = run(builder, inputs);
  EXPECT_TRUE(outputs) << (outputs ? "" : outputs.error().message);
  return outputs ? floatsOf(outputs->at(index)) : std::vector<float>();
}

Error errorOf(const OnnxBuilder& builder) {
  auto model = import(builder.build());
  return model ? Error{Code::kUnknown, "imported"} : model.error();
}

template <class Op>
int count(const OnnxBuilder& builder) {
  auto model = import(builder.build());
  EXPECT_TRUE(model) << (model ? "" : model.error().message);
  int found = 0;
  if (model) (*model)->captured.module->walk([&](Op) { ++found; });
  return found;
}

ProtoMessage truthTensor(std::string_view name, bool value) {
  ProtoMessage tensor;
  tensor.varint(2, kOnnxBool).text(8, name);
  return tensor.text(9, std::string_view(value ? "\1" : "\0", 1));
}

// y = condition ? x + outer : x * outer, `outer` an initializer of the model.
OnnxBuilder branches(bool constant) {
  OnnxBuilder onTrue, onFalse, model;
  onTrue.output("a").node("Add", {"x", "outer"}, {"a"});
  onFalse.output("b").node("Mul", {"x", "outer"}, {"b"});
  model.input("x", {2}).output("y").initializer(onnxTensor("outer", {1}, std::vector<float>{10}));
  if (constant)
    model.initializer(truthTensor("c", true));
  else
    model.input("c", {}, kOnnxBool);
  return model
      .node("If", {"c"}, {"z"}, {onnxGraph("then_branch", onTrue), onnxGraph("else_branch", onFalse)},
            "choice")
      .node("Add", {"z", "outer"}, {"y"});
}

TEST(If, AConstantConditionLeavesOneBranch) {
  EXPECT_EQ(count<ir::IfOp>(branches(true)), 0);
  EXPECT_THAT(result(branches(true), {floats({2}, {1, 2})}), ElementsAre(21, 22));
}

TEST(If, ARunTimeConditionChooses) {
  EXPECT_EQ(count<ir::IfOp>(branches(false)), 1);
  EXPECT_THAT(result(branches(false), {floats({2}, {1, 2}), truth(true)}), ElementsAre(21, 22));
  EXPECT_THAT(result(branches(false), {floats({2}, {1, 2}), truth(false)}), ElementsAre(20, 30));
}

TEST(If, NamesInsideStayTraceable) {
  auto model = import(branches(false).build());
  ASSERT_TRUE(model);
  EXPECT_TRUE((*model)->captured.analyse.shapes.contains("choice/a"));
}

TEST(If, BranchesOfDifferentTypesAreRefused) {
  OnnxBuilder onTrue, onFalse, model;
  onTrue.output("a").node("Identity", {"x"}, {"a"});
  onFalse.output("b").node("Concat", {"x", "x"}, {"b"}, {onnxInt("axis", 0)});
  model.input("x", {2}).input("c", {}, kOnnxBool).output("y");
  model.node("If", {"c"}, {"y"}, {onnxGraph("then_branch", onTrue), onnxGraph("else_branch", onFalse)});
  Error error = errorOf(model);
  EXPECT_EQ(error.code, Code::kUnimplemented);
  EXPECT_THAT(error.message, HasSubstr("different types for output 0"));
}

// if (sr == 16000) the last state of an LSTM over x, which must have rank 3; else the sum of x. As silero's
// models choose by their sampling rate.
OnnxBuilder byRate(int rank) {
  const std::int64_t features = 4, hidden = 2;
  OnnxBuilder recurrent, plain, model;
  std::vector<OnnxDim> shape{3, 1, features};
  shape.resize(static_cast<std::size_t>(rank), OnnxDim(1));
  recurrent.output("h").node("LSTM", {"x", "W", "R"}, {"all", "h"}, {onnxInt("hidden_size", hidden)}, "lstm");
  plain.output("s").node("ReduceSum", {"x"}, {"s"}, {}, "sum");
  model.input("x", shape).input("sr", {}, kOnnxInt64).output("y");
  model.initializer(onnxTensor("W", {1, 4 * hidden, features}, std::vector<float>(32, 0.1f)))
      .initializer(onnxTensor("R", {1, 4 * hidden, hidden}, std::vector<float>(16, 0.1f)))
      .initializer(onnxTensor("rate", {}, std::vector<std::int64_t>{16000}))
      .node("Equal", {"sr", "rate"}, {"wide"})
      .node("If", {"wide"}, {"y"}, {onnxGraph("then_branch", recurrent), onnxGraph("else_branch", plain)},
            "rates");
  return model;
}

TEST(If, ABranchThatCannotRunHereIsRefusedWithThePinThatDecides) {
  const Error error = errorOf(byRate(2));
  EXPECT_EQ(error.code, Code::kUnimplemented) << error.message;
  EXPECT_THAT(error.message, HasSubstr("'rates'"));
  EXPECT_THAT(error.message, HasSubstr("whose then branch cannot run on what it is given"));
  EXPECT_THAT(error.message, HasSubstr("'lstm'"));
  EXPECT_THAT(error.message, HasSubstr("fix the inputs it depends on with --pin sr="));
  // With the other rate there is nothing wrong with it; with this one the model is.
  auto other = import(byRate(2).build(), {}, "", {{"sr", {PinValue(std::int64_t{8000})}}});
  EXPECT_TRUE(other) << other.error().message;
  auto same = import(byRate(2).build(), {}, "", {{"sr", {PinValue(std::int64_t{16000})}}});
  ASSERT_FALSE(same);
  EXPECT_EQ(same.error().code, Code::kInvalidArgument);
  // Both fit, but give different shapes.
  const Error shapes = errorOf(byRate(3));
  EXPECT_EQ(shapes.code, Code::kUnimplemented) << shapes.message;
  EXPECT_THAT(shapes.message, HasSubstr("different types for output 0 (f32[1,1,2] and f32[1,1,1])"));
  EXPECT_THAT(shapes.message, HasSubstr("--pin sr="));
}

TEST(If, AModelNoneOfWhoseBranchesCanRunIsWrong) {
  OnnxBuilder a, b, model;
  a.output("p").node("MatMul", {"x", "x"}, {"p"}, {}, "first");
  b.output("q").node("Transpose", {"x"}, {"q"}, {onnxInts("perm", {0, 0})}, "second");
  model.input("x", {2, 3}).input("c", {}, kOnnxBool).output("y");
  model.node("If", {"c"}, {"y"}, {onnxGraph("then_branch", a), onnxGraph("else_branch", b)});
  const Error error = errorOf(model);
  EXPECT_EQ(error.code, Code::kInvalidArgument) << error.message;
  EXPECT_THAT(error.message, HasSubstr("'first'"));
}

TEST(If, ACanBeRefusedThatNoPinDecides) {
  OnnxBuilder onTrue, onFalse, model;
  onTrue.output("a").node("MatMul", {"x", "x"}, {"a"}, {}, "product");
  onFalse.output("b").node("Neg", {"x"}, {"b"});
  model.input("x", {2, 3}).output("y").initializer(onnxTensor("zero", {}, std::vector<float>{0}));
  model.node("ReduceMax", {"x"}, {"most"}, {onnxInt("keepdims", 0)})
      .node("Greater", {"most", "zero"}, {"c"})
      .node("If", {"c"}, {"y"}, {onnxGraph("then_branch", onTrue), onnxGraph("else_branch", onFalse)});
  const Error error = errorOf(model);
  EXPECT_EQ(error.code, Code::kUnimplemented);
  EXPECT_THAT(error.message, HasSubstr("depends on the values of the input 'x', which no --pin can fix"));
}

TEST(If, RangesDecideTheCondition) {
  // if (N > 100) MatMul of x with itself, which never fits; else -x.
  OnnxBuilder onTrue, onFalse, model;
  onTrue.output("a").node("MatMul", {"x", "x"}, {"a"}, {}, "product");
  onFalse.output("b").node("Neg", {"x"}, {"b"});
  model.input("x", {"N", 3}).output("y").initializer(onnxTensor("limit", {}, std::vector<std::int64_t>{100}));
  model.initializer(onnxTensor("first", {}, std::vector<std::int64_t>{0}))
      .node("Shape", {"x"}, {"shape"})
      .node("Gather", {"shape", "first"}, {"rows"})
      .node("Greater", {"rows", "limit"}, {"c"})
      .node("If", {"c"}, {"y"}, {onnxGraph("then_branch", onTrue), onnxGraph("else_branch", onFalse)});
  EXPECT_TRUE(importRanged(model.build(), {{"N", {1, 100}}}));
  auto both = importRanged(model.build(), {{"N", {1, 101}}});
  ASSERT_FALSE(both);
  EXPECT_EQ(both.error().code, Code::kUnimplemented);
  EXPECT_THAT(both.error().message, HasSubstr("give the dimensions it depends on one number"));
}

// No text for users holds MLIR's maps of symbolic shapes, whichever verifier or importer complains.
TEST(Messages, NameSymbolicShapesByTheirDimensions) {
  OnnxBuilder onTrue, onFalse, ranks;
  onTrue.output("a").node("Neg", {"x"}, {"a"});
  onFalse.output("b").node("ReduceSum", {"x"}, {"b"}, {onnxInt("keepdims", 0)});
  ranks.input("x", {"N", 3}).input("c", {}, kOnnxBool).output("y");
  ranks.node("If", {"c"}, {"y"}, {onnxGraph("then_branch", onTrue), onnxGraph("else_branch", onFalse)});
  auto refused = importRanged(ranks.build(), {{"N", {1, 8}}});
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("(f32[N,3] and f32[])"));
  EXPECT_THAT(refused.error().message, HasSubstr("--pin c="));
  // Each operator on operands of every wrong type.
  for (const char* op :
       {"Add", "MatMul", "Concat", "Where", "Gather", "Relu", "Not", "And", "Sigmoid", "Conv", "Softmax",
        "ReduceSum", "CumSum", "TopK", "Pow", "Mod", "BitShift", "NonZero"})
    for (const int type : {kOnnxFloat, kOnnxBool, kOnnxInt32, kOnnxUint8, kOnnxDouble}) {
      OnnxBuilder model;
      model.input("a", {"N", 3}, kOnnxFloat).input("b", {"N", 3}, type).output("y");
      model.node(op, {"b", "a", "b"}, {"y"}, {onnxInt("axis", 0)}, "culprit");
      const auto result = importRanged(model.build(), {{"N", {1, 8}}});
      if (!result) {
        EXPECT_THAT(result.error().message, Not(HasSubstr("affine_map"))) << op;
        EXPECT_THAT(result.error().message, Not(HasSubstr("tensor<"))) << op;
      }
    }
}

TEST(Scopes, UndefinedAndShadowingNamesAreNamed) {
  auto model = [](OnnxBuilder& body) {
    OnnxBuilder whole;
    whole.input("x", {2}).input("c", {}, kOnnxBool).output("y");
    return whole.node("If", {"c"}, {"y"}, {onnxGraph("then_branch", body), onnxGraph("else_branch", body)},
                      "choice");
  };
  OnnxBuilder undefined, shadowing;
  undefined.output("a").node("Add", {"x", "nowhere"}, {"a"});
  shadowing.output("x").node("Neg", {"c"}, {"x"});
  Error error = errorOf(model(undefined));
  EXPECT_EQ(error.code, Code::kInvalidArgument);
  EXPECT_THAT(error.message, HasSubstr("'choice'"));
  EXPECT_THAT(error.message, HasSubstr("'nowhere', which nothing defines"));
  EXPECT_THAT(errorOf(model(shadowing)).message, HasSubstr("'x' is defined again"));
}

// As PaddlePaddle's exporter writes loops: what goes in and what the body calls it have one name.
TEST(Scopes, ABodysParameterMayHaveAnOuterName) {
  OnnxBuilder body;
  body.input("i", {}, kOnnxInt64).input("go", {}, kOnnxBool).input("x", {2});
  body.output("go_on", kOnnxBool).output("next");
  body.node("Identity", {"go"}, {"go_on"}).node("Add", {"x", "x"}, {"next"});
  OnnxBuilder unrolled, looping;
  unrolled.initializer(onnxTensor("trip", {}, std::vector<std::int64_t>{3})).input("x", {2});
  looping.input("x", {2}).input("trip", {}, kOnnxInt64);
  for (OnnxBuilder* model : {&unrolled, &looping})
    model->output("y")
        .node("Loop", {"trip", "", "x"}, {"last"}, {onnxGraph("body", body)})
        .node("Sub", {"last", "x"}, {"y"});
  EXPECT_THAT(result(unrolled, {floats({2}, {1, 2})}), ElementsAre(7, 14));
  EXPECT_THAT(result(looping, {floats({2}, {1, 2}), longs({}, {3})}), ElementsAre(7, 14));
}

TEST(Scopes, AValueMayBeDefinedBehindTheNodeWhoseBodyUsesIt) {
  OnnxBuilder body, model;
  body.output("a").node("Neg", {"later"}, {"a"});
  model.input("x", {2}).output("y").initializer(truthTensor("c", true));
  model.node("If", {"c"}, {"y"}, {onnxGraph("then_branch", body), onnxGraph("else_branch", body)})
      .node("Abs", {"x"}, {"later"});
  EXPECT_THAT(result(model, {floats({2}, {-1, 2})}), ElementsAre(-1, -2));
}

TEST(Scopes, NestingIsBounded) {
  OnnxBuilder body;
  body.output("a").node("Neg", {"x"}, {"a"});
  for (int depth = 0; depth < 12; ++depth) {
    OnnxBuilder next;
    next.output("b" + std::to_string(depth))
        .node("If", {"c"}, {"b" + std::to_string(depth)}, {onnxGraph("then_branch", body)});
    body = next;
  }
  OnnxBuilder model;
  model.input("x", {2}).input("c", {}, kOnnxBool).output("y");
  model.node("If", {"c"}, {"y"}, {onnxGraph("then_branch", body)});
  EXPECT_THAT(errorOf(model).message, HasSubstr("nested deeper than"));
}

// carried' = carried + x; its square is a scan output.
OnnxBuilder summingBody(const std::vector<OnnxDim>& shape) {
  OnnxBuilder body;
  body.input("i", {}, kOnnxInt64).input("go", {}, kOnnxBool).input("sum", shape);
  body.output("go_on", kOnnxBool).output("next").output("square");
  return body.node("Identity", {"go"}, {"go_on"})
      .node("Add", {"sum", "x"}, {"next"})
      .node("Mul", {"next", "next"}, {"square"});
}

TEST(Loop, AConstantTripCountIsUnrolled) {
  OnnxBuilder model;
  model.input("x", {2}).output("last").output("squares");
  model.initializer(onnxTensor("trip", {}, std::vector<std::int64_t>{3}))
      .initializer(onnxTensor("zero", {2}, std::vector<float>{0, 0}))
      .node("Loop", {"trip", "", "zero"}, {"last", "squares"}, {onnxGraph("body", summingBody({2}))},
            "again");
  EXPECT_EQ(count<ir::LoopOp>(model), 0);
  EXPECT_THAT(result(model, {floats({2}, {1, 2})}), ElementsAre(3, 6));
  EXPECT_THAT(result(model, {floats({2}, {1, 2})}, 1), ElementsAre(1, 4, 4, 16, 9, 36));
}

TEST(Loop, ATripCountKnownAtRunTimeOnlyIsALoop) {
  OnnxBuilder body, model;
  body.input("i", {}, kOnnxInt64).input("go", {}, kOnnxBool).input("sum", {2}).output("go_on").output("next");
  body.node("Identity", {"go"}, {"go_on"}).node("Add", {"sum", "x"}, {"next"});
  model.input("x", {2}).input("trip", {}, kOnnxInt64).output("last");
  model.initializer(onnxTensor("zero", {2}, std::vector<float>{0, 0}))
      .node("Loop", {"trip", "", "zero"}, {"last"}, {onnxGraph("body", body)});
  EXPECT_EQ(count<ir::LoopOp>(model), 1);
  EXPECT_THAT(result(model, {floats({2}, {1, 2}), longs({}, {5})}), ElementsAre(5, 10));
  EXPECT_THAT(result(model, {floats({2}, {1, 2}), longs({}, {0})}), ElementsAre(0, 0));
}

TEST(Loop, RunsWhileAConditionOfItsBodyHolds) {
  // Doubles x until it is at least 100; counts the rounds through the iteration number.
  OnnxBuilder body, model;
  body.input("i", {}, kOnnxInt64).input("go", {}, kOnnxBool).input("v", {}).input("n", {}, kOnnxInt64);
  body.output("more").output("twice").output("i2", kOnnxInt64);
  body.node("Add", {"v", "v"}, {"twice"})
      .node("Less", {"twice", "limit"}, {"more"})
      .node("Add", {"i", "one"}, {"i2"});
  model.input("x", {}).output("y").output("rounds", kOnnxInt64);
  model.initializer(truthTensor("yes", true))
      .initializer(onnxTensor("limit", {}, std::vector<float>{100}))
      .initializer(onnxTensor("one", {}, std::vector<std::int64_t>{1}))
      .initializer(onnxTensor("zero", {}, std::vector<std::int64_t>{0}))
      .node("Loop", {"", "yes", "x", "zero"}, {"y", "rounds"}, {onnxGraph("body", body)});
  auto outputs = run(model, {floats({}, {3})});
  ASSERT_TRUE(outputs) << outputs.error().message;
  EXPECT_THAT(floatsOf(outputs->at(0)), ElementsAre(192));
  EXPECT_EQ(*outputs->at(1).data<std::int64_t>(), 6);
}

TEST(Loop, AnUnrolledBodyMayChangeShapes) {
  OnnxBuilder body, model;
  body.input("i", {}, kOnnxInt64)
      .input("go", {}, kOnnxBool)
      .input("all", {"n"})
      .output("go_on")
      .output("next");
  body.node("Identity", {"go"}, {"go_on"}).node("Concat", {"all", "x"}, {"next"}, {onnxInt("axis", 0)});
  model.input("x", {1}).output("y").initializer(onnxTensor("trip", {}, std::vector<std::int64_t>{2}));
  model.node("Loop", {"trip", "", "x"}, {"y"}, {onnxGraph("body", body)});
  EXPECT_THAT(result(model, {floats({1}, {7})}), ElementsAre(7, 7, 7));
  OnnxBuilder open;
  open.input("x", {1}).input("trip", {}, kOnnxInt64).output("y");
  open.node("Loop", {"trip", "", "x"}, {"y"}, {onnxGraph("body", body)});
  EXPECT_THAT(errorOf(open).message, HasSubstr("changes its type between iterations"));
}

TEST(Loop, WrongCountsAreNamed) {
  OnnxBuilder model;
  model.input("x", {2}).output("y").initializer(onnxTensor("trip", {}, std::vector<std::int64_t>{3}));
  model.node("Loop", {"trip", "", "x", "x"}, {"y"}, {onnxGraph("body", summingBody({2}))}, "again");
  Error error = errorOf(model);
  EXPECT_EQ(error.code, Code::kInvalidArgument);
  EXPECT_THAT(error.message, HasSubstr("'again'"));
  EXPECT_THAT(error.message, HasSubstr("the body has 3 inputs"));
}

// Doubles `v` while it is below `limit`, and collects what it was.
OnnxBuilder doubling() {
  OnnxBuilder body;
  body.input("i", {}, kOnnxInt64).input("go", {}, kOnnxBool).input("v", {1});
  body.output("more").output("twice").output("was");
  return body.node("Add", {"v", "v"}, {"twice"})
      .node("Identity", {"v"}, {"was"})
      .node("Less", {"twice", "limit"}, {"less"})
      .node("Squeeze", {"less"}, {"more"});
}

TEST(Loop, ARunFindsOutHowManyRowsAreCollected) {
  OnnxBuilder model;
  model.input("x", {1}).output("last").output("all");
  model.initializer(truthTensor("yes", true))
      .initializer(onnxTensor("limit", {1}, std::vector<float>{100}))
      .initializer(onnxTensor("trip", {}, std::vector<std::int64_t>{20}))
      .node("Loop", {"trip", "yes", "x"}, {"last", "all"}, {onnxGraph("body", doubling())});
  auto outputs = run(model, {floats({1}, {30})});
  ASSERT_TRUE(outputs) << outputs.error().message;
  EXPECT_THAT(floatsOf(outputs->at(0)), ElementsAre(120));
  EXPECT_THAT(floatsOf(outputs->at(1)), ElementsAre(30, 60));
}

TEST(Loop, WhatMustBePinnedIsNamed) {
  OnnxBuilder model;
  model.input("x", {1}).input("n", {}, kOnnxInt64).input("c", {}, kOnnxBool).output("last").output("all");
  model.initializer(onnxTensor("limit", {1}, std::vector<float>{100}))
      .node("Add", {"n", "n"}, {"trip"})
      .node("Loop", {"trip", "c", "x"}, {"last", "all"}, {onnxGraph("body", doubling())});
  EXPECT_THAT(errorOf(model).message, HasSubstr("fix the inputs it depends on with --pin n="));
}

// The number of the turn is no input, so no advice to pin one.
TEST(Loop, WhatATurnCalculatesCannotBePinned) {
  OnnxBuilder body, model;
  body.input("i", {}, kOnnxInt64).input("go", {}, kOnnxBool).input("v", {1});
  body.output("go_on", kOnnxBool).output("next");
  body.node("Identity", {"go"}, {"go_on"})
      .node("Range", {"zero", "i", "one"}, {"r"})
      .node("Add", {"v", "v"}, {"next"});
  model.input("x", {1}).input("trip", {}, kOnnxInt64).output("y");
  model.initializer(onnxTensor("zero", {}, std::vector<std::int64_t>{0}))
      .initializer(onnxTensor("one", {}, std::vector<std::int64_t>{1}))
      .node("Loop", {"trip", "", "x"}, {"y"}, {onnxGraph("body", body)});
  EXPECT_THAT(errorOf(model).message,
              HasSubstr("it depends on what a loop calculates as it goes, which no --pin can fix"));
}

// Nor is a constant that is too large a matter of loops.
TEST(Constants, OneThatIsTooLargeToFollowSaysSo) {
  const auto split = [](std::int64_t parts) {
    std::vector<std::int64_t> sizes(static_cast<std::size_t>(parts), 1);
    sizes[0] = 2;
    std::vector<std::string> names;
    OnnxBuilder model;
    model.input("x", {parts + 1}).initializer(onnxTensor("sizes", {parts}, sizes));
    for (std::int64_t i = 0; i < parts; ++i) model.output(names.emplace_back("y" + std::to_string(i)));
    return model.node("Split", {"x", "sizes"}, {names.begin(), names.end()});
  };
  EXPECT_EQ(errorOf(split(128)).message, "imported");
  EXPECT_THAT(errorOf(split(129)).message,
              AllOf(HasSubstr("constants of more than 1024 bytes"), Not(HasSubstr("loop"))));
  EXPECT_THAT(
      errorOf(split(1025)).message,
      AllOf(HasSubstr("a constant of 1025 elements, and at most 1024 are followed"), Not(HasSubstr("loop"))));
}

TEST(Scan, RunsAlongAxesInBothDirections) {
  OnnxBuilder body, model;
  body.input("sum", {2}).input("column", {2}).output("next").output("copy");
  body.node("Add", {"sum", "column"}, {"next"}).node("Identity", {"next"}, {"copy"});
  model.input("x", {2, 3}).output("last").output("sums");
  model.initializer(onnxTensor("zero", {2}, std::vector<float>{0, 0}))
      .node("Scan", {"zero", "x"}, {"last", "sums"},
            {onnxGraph("body", body), onnxInt("num_scan_inputs", 1), onnxInts("scan_input_axes", {1}),
             onnxInts("scan_input_directions", {1}), onnxInts("scan_output_axes", {-1})});
  const HostTensor x = floats({2, 3}, {1, 2, 3, 10, 20, 30});
  EXPECT_THAT(result(model, {x}), ElementsAre(6, 60));
  EXPECT_THAT(result(model, {x}, 1), ElementsAre(3, 5, 6, 30, 50, 60));
}

TEST(Functions, AreInlinedWithTheirAttributes) {
  OnnxFunction scale("mine", "Scale", {"a"}, {"b"}), twice("mine", "Twice", {"a"}, {"b"});
  scale.attribute("keep")
      .defaultAttribute(onnxInt("axis", 0))
      .node("ReduceSum", {"a"}, {"b"}, {onnxReference("keepdims", "keep", 2)}, "inner");
  twice.importDomain("mine", 1)
      .node("Scale", {"a"}, {"c"}, {onnxInt("keep", 1)}, "first", "mine")
      .node("Add", {"c", "c"}, {"b"});
  OnnxBuilder model;
  model.input("x", {2}).output("y").importDomain("mine", 1).function(scale).function(twice);
  model.node("Twice", {"x"}, {"y"}, {}, "call", "mine");
  EXPECT_THAT(result(model, {floats({2}, {1, 2})}), ElementsAre(6));
  auto imported = import(model.build());
  ASSERT_TRUE(imported);
  EXPECT_TRUE((*imported)->captured.analyse.shapes.contains("call/first/inner"));
  EXPECT_EQ((*imported)->captured.outputs[0].shape, std::vector<std::int64_t>{1});
  EXPECT_EQ((*imported)->captured.capture.functions, 2);
}

TEST(Functions, RecursionExpansionAndWrongCallsAreNamed) {
  auto call = [](const std::vector<OnnxFunction>& functions, const std::vector<ProtoMessage>& attributes = {},
                 const std::vector<std::string>& inputs = {"x"}) {
    OnnxBuilder model;
    model.input("x", {2}).output("y").importDomain("mine", 1);
    for (const OnnxFunction& function : functions) model.function(function);
    return errorOf(model.node("F0", inputs, {"y"}, attributes, "call", "mine"));
  };
  OnnxFunction self("mine", "F0", {"a"}, {"b"});
  self.importDomain("mine", 1).node("F0", {"a"}, {"b"}, {}, "", "mine");
  EXPECT_THAT(call({self}).message, HasSubstr("function 'F0' calls itself"));

  std::vector<OnnxFunction> bomb;
  for (int i = 0; i < 30; ++i) {
    const std::string next = "F" + std::to_string(i + 1);
    OnnxFunction function("mine", "F" + std::to_string(i), {"a"}, {"b"});
    function.importDomain("mine", 1)
        .node(next, {"a"}, {"c"}, {}, "", "mine")
        .node(next, {"c"}, {"b"}, {}, "", "mine");
    bomb.push_back(function);
  }
  bomb.push_back(OnnxFunction("mine", "F30", {"a"}, {"b"}).node("Neg", {"a"}, {"b"}));
  EXPECT_THAT(call(bomb).message, HasSubstr("expand to more than"));

  OnnxFunction plain("mine", "F0", {"a"}, {"b"});
  plain.node("Neg", {"a"}, {"b"});
  EXPECT_THAT(call({plain}, {onnxInt("unknown", 1)}).message, HasSubstr("has no attribute 'unknown'"));
  EXPECT_THAT(call({plain}, {}, {"x", "x"}).message, HasSubstr("has 1 inputs, the node gives 2"));
  EXPECT_THAT(call({plain, plain}).message, HasSubstr("defined twice"));
}

TEST(Functions, AnOperandLeftOutIsAbsentInside) {
  OnnxFunction clip("mine", "Limit", {"a", "low"}, {"b"});
  clip.node("Clip", {"a", "low"}, {"b"});
  OnnxBuilder model;
  model.input("x", {2}).output("y").importDomain("mine", 1).function(clip);
  model.node("Limit", {"x"}, {"y"}, {}, "", "mine");
  EXPECT_THAT(result(model, {floats({2}, {-1, 2})}), ElementsAre(-1, 2));
}

TEST(Sequences, AreMadeTakenApartAndJoined) {
  OnnxBuilder model;
  model.input("x", {4}).output("y").output("n", kOnnxInt64);
  model.initializer(onnxTensor("two", {}, std::vector<std::int64_t>{2}))
      .initializer(onnxTensor("minus", {}, std::vector<std::int64_t>{-1}))
      .initializer(onnxTensor("first", {}, std::vector<std::int64_t>{0}))
      .node("SplitToSequence", {"x", "two"}, {"parts"})
      .node("SequenceAt", {"parts", "minus"}, {"last"})
      .node("SequenceInsert", {"parts", "last", "first"}, {"three"})
      .node("SequenceErase", {"three", "minus"}, {"rest"})
      .node("SequenceLength", {"three"}, {"n"})
      .node("ConcatFromSequence", {"rest"}, {"y"}, {onnxInt("axis", 1), onnxInt("new_axis", 1)});
  auto outputs = run(model, {floats({4}, {1, 2, 3, 4})});
  ASSERT_TRUE(outputs) << outputs.error().message;
  EXPECT_THAT(floatsOf(outputs->at(0)), ElementsAre(3, 1, 4, 2));
  EXPECT_THAT(outputs->at(0).shape, ElementsAre(2, 2));
  EXPECT_EQ(*outputs->at(1).data<std::int64_t>(), 3);
}

TEST(Sequences, GrowInUnrolledLoops) {
  OnnxBuilder body, model;
  body.input("i", {}, kOnnxInt64).input("go", {}, kOnnxBool).input("some", {}).output("go_on").output("next");
  body.node("Identity", {"go"}, {"go_on"})
      .node("Cast", {"i"}, {"number"}, {onnxInt("to", 1)})
      .node("Add", {"number", "x"}, {"value"})
      .node("SequenceInsert", {"some", "value"}, {"next"});
  model.input("x", {2}).output("y").initializer(onnxTensor("trip", {}, std::vector<std::int64_t>{3}));
  model.node("SequenceEmpty", {}, {"none"})
      .node("Loop", {"trip", "", "none"}, {"all"}, {onnxGraph("body", body)})
      .node("ConcatFromSequence", {"all"}, {"y"}, {onnxInt("axis", 0)});
  EXPECT_THAT(result(model, {floats({2}, {10, 20})}), ElementsAre(10, 20, 11, 21, 12, 22));
}

TEST(Sequences, AreMappedElementByElement) {
  OnnxBuilder body, model;
  body.input("a", {}).input("b", {}).output("c");
  body.node("Add", {"a", "b"}, {"c"});
  model.input("x", {2}).input("z", {2}).output("y");
  model.node("SequenceConstruct", {"x", "z"}, {"both"})
      .node("SequenceMap", {"both", "x"}, {"sums"}, {onnxGraph("body", body)})
      .node("ConcatFromSequence", {"sums"}, {"y"}, {onnxInt("axis", 0)});
  EXPECT_THAT(result(model, {floats({2}, {1, 2}), floats({2}, {3, 4})}), ElementsAre(2, 4, 4, 6));
}

TEST(Sequences, PositionsOutsideAreNamed) {
  OnnxBuilder model;
  model.input("x", {2}).output("y").initializer(onnxTensor("at", {}, std::vector<std::int64_t>{1}));
  model.node("SequenceConstruct", {"x"}, {"one"}).node("SequenceAt", {"one", "at"}, {"y"});
  EXPECT_THAT(errorOf(model).message, HasSubstr("position 1 is outside the sequence"));
  OnnxBuilder wrong;
  wrong.input("x", {2}).output("y").node("SequenceConstruct", {"x"}, {"one"}).node("Neg", {"one"}, {"y"});
  EXPECT_THAT(errorOf(wrong).message, HasSubstr("input 0 is a sequence, the operator takes tensors"));
}

TEST(Sequences, InputsAndOutputsAreFlattened) {
  OnnxBuilder model;
  model.sequenceInput("xs", {2}).output("ys").output("n", kOnnxInt64);
  model.node("SequenceLength", {"xs"}, {"n"})
      .node("SequenceInsert", {"xs", "first"}, {"ys"})
      .node("SequenceAt", {"xs", "zero"}, {"first"});
  model.initializer(onnxTensor("zero", {}, std::vector<std::int64_t>{0}));
  EXPECT_THAT(errorOf(model).message, HasSubstr("--sequence xs=COUNT"));
  const Composites two{{"xs", {true, {std::nullopt, std::nullopt}}}};
  auto imported = import(model.build(), {}, "", {}, two);
  ASSERT_TRUE(imported) << imported.error().message;
  const onnx::Captured& captured = (*imported)->captured;
  ASSERT_EQ(captured.inputs.size(), 2u);
  EXPECT_EQ(captured.inputs[1].name, "xs.1");
  ASSERT_EQ(captured.outputs.size(), 4u);
  EXPECT_EQ(captured.outputs[2].name, "ys.2");
  auto values =
      reference::evaluate(*captured.module, captured.weights, {floats({2}, {1, 2}), floats({2}, {3, 4})});
  ASSERT_TRUE(values);
  EXPECT_THAT(floatsOf(values->at(2)), ElementsAre(1, 2));
  const Composites unknown{{"zs", {true, {}}}};
  auto refused = import(model.build(), {}, "", {}, unknown);
  ASSERT_FALSE(refused);
}

// What a sequence holds gets names of Kiln's own: a model may use them already.
TEST(Sequences, PartsThatShareTheirNameAreNotServed) {
  OnnxBuilder model;
  model.sequenceInput("xs", {2}).input("xs.0", {2}).output("y");
  model.node("SequenceInsert", {"xs", "xs.0"}, {"all"})
      .node("ConcatFromSequence", {"all"}, {"y"}, {onnxInt("axis", 0)});
  const auto inputs = import(model.build(), {}, "", {}, {{"xs", {true, {std::nullopt}}}});
  ASSERT_FALSE(inputs);
  EXPECT_EQ(inputs.error().code, Code::kUnimplemented);
  EXPECT_THAT(inputs.error().message, HasSubstr("two inputs would be called 'xs.0'"));
  OnnxBuilder made;
  made.input("x", {2}).output("ys").output("ys.0");
  made.node("SequenceConstruct", {"x"}, {"ys"}).node("Neg", {"x"}, {"ys.0"});
  EXPECT_EQ(errorOf(made).code, Code::kUnimplemented);
  EXPECT_THAT(errorOf(made).message, HasSubstr("two outputs would be called 'ys.0'"));
}

TEST(Optionals, KnowWhetherTheyHoldAValue) {
  OnnxBuilder onTrue, onFalse, model;
  onTrue.output("a").node("OptionalGetElement", {"maybe"}, {"a"});
  onFalse.output("b").node("Neg", {"x"}, {"b"});
  model.input("x", {2})
      .output("y")
      .node("Optional", {"x"}, {"maybe"})
      .node("OptionalHasElement", {"maybe"}, {"has"});
  model.node("If", {"has"}, {"y"}, {onnxGraph("then_branch", onTrue), onnxGraph("else_branch", onFalse)});
  EXPECT_THAT(result(model, {floats({2}, {1, 2})}), ElementsAre(1, 2));
}

}  // namespace
}  // namespace kiln
