// What is too much for the reference evaluator is refused by name before anything is run.
#include "compiler_core/driver/reference_effort.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <limits>

#include "compiler_core/driver/evaluate_reference.h"
#include "compiler_core/frontend/onnx/import/import.h"
#include "tests/support/onnx_builder.h"
#include "tests/support/temp_directory.h"

namespace kiln::driver {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using namespace testing_support;
using Longs = std::vector<std::int64_t>;

// The refusal; "" for what was evaluated.
std::string refusal(const OnnxBuilder& model, const std::map<std::string, std::int64_t>& dims = {}) {
  const TempDirectory directory;
  const std::string path = directory / "m.onnx";
  std::ofstream(path, std::ios::binary) << model.build();
  const auto result = evaluateReference(path, dims, {}, {}, 1);
  if (result) return "";
  EXPECT_EQ(result.error().code, Code::kResourceExhausted) << result.error().message;
  return result.error().message;
}

// What evaluating it would take; nothing is run.
std::uint64_t stepsOf(const OnnxBuilder& model) {
  const TempDirectory directory;
  const std::string path = directory / "m.onnx";
  std::ofstream(path, std::ios::binary) << model.build();
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  frontend::prepareContext(context);
  const auto loaded = onnx::loadModel(path);
  EXPECT_TRUE(loaded);
  const auto captured = onnx::importModel(context, *loaded, {{}, {}, {}, {}});
  EXPECT_TRUE(captured) << captured.error().message;
  return effortOf(*captured->module).steps;
}

TEST(ReferenceEffort, WhatFixturesWouldKeepIsBounded) {
  OnnxBuilder model;
  model.input("x", {"N", 4}).output("y").node("Tanh", {"x"}, {"y"});
  EXPECT_EQ(refusal(model, {{"N", 4}}), "");
  EXPECT_THAT(refusal(model, {{"N", 100000000}}),
              AllOf(HasSubstr("inputs and outputs have 3200000000 bytes"), HasSubstr("at most 1073741824")));
}

TEST(ReferenceEffort, WhatIsAliveAtOnceIsBounded) {
  OnnxBuilder model;
  model.input("x", {1})
      .output("y")
      .initializer(onnxTensor("to", {1}, Longs{std::int64_t{1} << 31}))
      .node("Expand", {"x", "to"}, {"large"}, {}, "grow")
      .node("ReduceMax", {"large"}, {"y"});
  EXPECT_THAT(refusal(model),
              AllOf(HasSubstr("bytes of tensors would be alive at once"), HasSubstr("at most 8589934592"),
                    HasSubstr("node 'grow' is where most are")));
}

TEST(ReferenceEffort, StepsAreBounded) {
  OnnxBuilder model;
  model.input("a", {8192, 8192})
      .input("b", {8192, 8192})
      .output("y")
      .node("Relu", {"a"}, {"r"}, {}, "before")
      .node("MatMul", {"r", "b"}, {"y"}, {}, "mm");
  EXPECT_THAT(refusal(model), AllOf(HasSubstr("the reference evaluator would take 1"),
                                    HasSubstr("at most 1099511627776"), HasSubstr("node 'mm' takes most")));
}

// An exponential takes a thousand times as long as the comparison in a Relu.
TEST(ReferenceEffort, FunctionsCountAsWhatTheyTake) {
  const auto layers = [](const std::string& op) {
    OnnxBuilder model;
    model.input("v0", {16, 1 << 20}).output("v80");
    for (int i = 0; i < 80; ++i)
      model.node(op, {"v" + std::to_string(i)}, {"v" + std::to_string(i + 1)}, {}, "n" + std::to_string(i));
    return model;
  };
  EXPECT_THAT(refusal(layers("Tanh")), HasSubstr("at most 1099511627776; node 'n0' takes most"));
  EXPECT_THAT(refusal(layers("Softmax")), HasSubstr("node 'n0' takes most"));
  EXPECT_LT(stepsOf(layers("Relu")), kMaxReferenceSteps / 10);
}

TEST(ReferenceEffort, ALoopCountsAsOftenAsItRuns) {
  const auto looped = [](std::int64_t trips) {
    OnnxBuilder body, model;
    body.input("i", {}, kOnnxInt64)
        .input("more", {}, kOnnxBool)
        .input("s", {512, 512})
        .output("again", kOnnxBool)
        .output("t")
        .node("Identity", {"more"}, {"again"})
        .node("MatMul", {"s", "w"}, {"t"});
    model.input("x", {512, 512})
        .input("w", {512, 512})
        .output("y")
        .initializer(onnxTensor("trips", {}, Longs{trips}))
        .node("Loop", {"trips", "", "x"}, {"y"}, {onnxGraph("body", body)}, "steps");
    return model;
  };
  EXPECT_THAT(refusal(looped(100000)), HasSubstr("node 'steps' takes most"));
}

// As exporters write a loop that ends by its condition: no count says how often it runs.
TEST(ReferenceEffort, ALoopThatEndsByItsConditionIsTried) {
  OnnxBuilder body, model;
  body.input("i", {}, kOnnxInt64)
      .input("more", {}, kOnnxBool)
      .input("s", {4})
      .output("again", kOnnxBool)
      .output("t")
      .node("Add", {"s", "s"}, {"t"})
      .node("Less", {"i", "last"}, {"again"});
  model.input("x", {4})
      .input("go", {}, kOnnxBool)
      .output("y")
      .initializer(onnxTensor("trips", {}, Longs{std::numeric_limits<std::int64_t>::max()}))
      .initializer(onnxTensor("last", {}, Longs{20}))
      .node("Loop", {"trips", "go", "x"}, {"y"}, {onnxGraph("body", body)}, "steps");
  EXPECT_EQ(refusal(model), "");
}

}  // namespace
}  // namespace kiln::driver
