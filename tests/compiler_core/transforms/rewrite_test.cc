// The rewrite stage as a whole: results stay, evidence is complete, the outcome is deterministic.
#include "compiler_core/transforms/rewrite.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "compiler_core/reference/inputs.h"
#include "tests/compiler_core/frontend/run_model.h"

namespace kiln {
namespace {

using namespace testing_support;

// conv -> batch norm -> relu -> pool -> flatten -> gemm -> softmax with seeded weights.
std::string smallNetwork() {
  auto random = [](std::string_view name, std::vector<std::int64_t> dims) {
    HostTensor tensor = reference::makeInput(name, DType::kF32, dims, 1);
    return onnxTensor(name, dims, floatsOf(tensor));
  };
  OnnxBuilder model(13);
  model.input("image", {1, 2, 8, 8})
      .output("probability")
      .initializer(random("w", {16, 2, 3, 3}))
      .initializer(random("scale", {16}))
      .initializer(random("offset", {16}))
      .initializer(random("mean", {16}))
      .initializer(onnxTensor("variance", {16}, std::vector<float>(16, 0.7f)))
      .initializer(random("dense", {10, 256}))
      .initializer(random("bias", {10}));
  model.node("Conv", {"image", "w"}, {"c"}, {onnxText("auto_pad", "SAME_UPPER")}, "conv")
      .node("BatchNormalization", {"c", "scale", "offset", "mean", "variance"}, {"n"}, {}, "norm")
      .node("Relu", {"n"}, {"r"}, {}, "relu")
      .node("MaxPool", {"r"}, {"p"}, {onnxInts("kernel_shape", {2, 2}), onnxInts("strides", {2, 2})}, "pool")
      .node("Flatten", {"p"}, {"f"}, {}, "flatten")
      .node("Gemm", {"f", "dense", "bias"}, {"g"}, {onnxInt("transB", 1)}, "dense")
      .node("Softmax", {"g"}, {"probability"}, {}, "softmax");
  return model.build();
}

std::string textOf(mlir::ModuleOp module) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  module.print(stream, mlir::OpPrintingFlags().enableDebugInfo());
  return text;
}

struct Rewritten {
  std::unique_ptr<TestModel> model;
  ir::RewriteEvidence evidence;
};

Rewritten rewriteNetwork() {
  auto model = import(smallNetwork());
  EXPECT_TRUE(model) << (model ? "" : model.error().message);
  auto evidence = transforms::rewrite(*(*model)->captured.module, (*model)->captured.weights);
  EXPECT_TRUE(evidence) << (evidence ? "" : evidence.error().message);
  return {std::move(*model), std::move(*evidence)};
}

TEST(Rewrite, NoConcatenationHasManyParts) {
  OnnxBuilder model(13);
  std::vector<std::string> parts;
  model.input("x", {2, 3}).output("y");
  for (int i = 0; i < 1100; ++i) {
    const std::string number = std::to_string(i);
    model.initializer(onnxTensor("w" + number, {}, std::vector<float>{static_cast<float>(i)}));
    model.node("Mul", {"x", "w" + number}, {"p" + number});
    parts.push_back("p" + number);
  }
  model.node("Concat", parts, {"y"}, {onnxInt("axis", 0)});
  auto made = import(model.build());
  ASSERT_TRUE(made) << made.error().message;
  onnx::Captured& captured = (*made)->captured;
  ASSERT_TRUE(transforms::rewrite(*captured.module, captured.weights));
  captured.module->walk([](ir::ConcatOp op) { EXPECT_LE(op.getInputs().size(), 32u); });
  const auto result =
      reference::evaluate(*captured.module, captured.weights, {floats({2, 3}, {1, 2, 3, 4, 5, 6})});
  ASSERT_TRUE(result) << result.error().message;
  for (int i = 0; i < 1100; ++i)
    for (int j = 0; j < 6; ++j)
      EXPECT_EQ(result->front().data<float>()[6 * i + j], static_cast<float>(i * (j + 1)));
}

TEST(Rewrite, ResultsStay) {
  auto before = import(smallNetwork());
  ASSERT_TRUE(before) << before.error().message;
  Rewritten after = rewriteNetwork();
  std::vector<HostTensor> inputs{reference::makeInput("image", DType::kF32, {1, 2, 8, 8}, 5)};
  auto expected = reference::evaluate(*(*before)->captured.module, (*before)->captured.weights, inputs);
  auto result = reference::evaluate(*after.model->captured.module, after.model->captured.weights, inputs);
  ASSERT_TRUE(expected && result);
  for (std::int64_t i = 0; i < 10; ++i) {
    float want = expected->at(0).data<float>()[i];
    EXPECT_NEAR(result->at(0).data<float>()[i], want, 1e-7f + 1e-5f * std::fabs(want)) << i;
  }
}

TEST(Rewrite, TheNormalisationVanishesAndGroupsAreNamed) {
  Rewritten rewritten = rewriteNetwork();
  std::string text = textOf(*rewritten.model->captured.module);
  EXPECT_THAT(text, testing::Not(testing::HasSubstr("batch_norm")));
  EXPECT_THAT(text, testing::Not(testing::HasSubstr("kiln.softmax")));
  EXPECT_THAT(text, testing::Not(testing::HasSubstr("kiln.transpose")));
  ASSERT_FALSE(rewritten.evidence.groups.empty());
  EXPECT_THAT(rewritten.evidence.groups[0].nodes, testing::ElementsAre("conv", "norm", "relu"));
  EXPECT_THAT(rewritten.evidence.groups[0].operations, testing::ElementsAre("kiln.conv", "kiln.unary relu"));
  // The folded filter says what it was made of.
  const ir::WeightTable& weights = rewritten.model->captured.weights;
  bool found = false;
  for (std::int64_t i = 0; i < weights.size(); ++i) found |= weights.find(i)->name == "w+norm";
  EXPECT_TRUE(found);
}

TEST(Rewrite, EveryPassIsInTheEvidence) {
  Rewritten rewritten = rewriteNetwork();
  std::vector<std::string> names;
  for (const ir::PassEvidence& pass : rewritten.evidence.passes) {
    names.push_back(pass.name);
    EXPECT_GT(pass.before, 0);
    EXPECT_GT(pass.after, 0);
  }
  EXPECT_THAT(
      names, testing::ElementsAre("canonicalize", "cse", "kiln-hoist-invariants", "kiln-fold-constants",
                                  "kiln-sink-transposes", "kiln-recognise-attention", "kiln-fold-batch-norm",
                                  "kiln-widen", "kiln-decompose", "kiln-fold-constants", "kiln-sink-reshapes",
                                  "kiln-simplify", "canonicalize", "cse", "kiln-form-groups"));
  EXPECT_EQ(rewritten.evidence.passes[6].before - rewritten.evidence.passes[6].after,
            -1);  // new filter and bias, no norm
}

TEST(Rewrite, APassCanBeDisabledAndIsTimed) {
  auto model = import(smallNetwork());
  ASSERT_TRUE(model) << model.error().message;
  std::vector<std::string> timed;
  auto evidence = transforms::rewrite(*(*model)->captured.module, (*model)->captured.weights,
                                      {{"kiln-fold-batch-norm"}, [&](std::string_view pass, double seconds) {
                                         EXPECT_GE(seconds, 0);
                                         timed.emplace_back(pass);
                                       }});
  ASSERT_TRUE(evidence) << evidence.error().message;
  EXPECT_EQ(timed.size() + 1, evidence->passes.size());
  EXPECT_FALSE(llvm::is_contained(timed, "kiln-fold-batch-norm"));
  for (const ir::PassEvidence& pass : evidence->passes)
    EXPECT_EQ(pass.flags.contains("disabled"), pass.name == "kiln-fold-batch-norm") << pass.name;
  // The filter is as it was.
  const ir::WeightTable& weights = (*model)->captured.weights;
  for (std::int64_t i = 0; i < weights.size(); ++i) EXPECT_NE(weights.find(i)->name, "w+norm");
}

TEST(Rewrite, AnUnknownPassIsNamed) {
  auto model = import(smallNetwork());
  ASSERT_TRUE(model) << model.error().message;
  auto evidence =
      transforms::rewrite(*(*model)->captured.module, (*model)->captured.weights, {{"kiln-no"}, {}});
  ASSERT_FALSE(evidence);
  EXPECT_EQ(evidence.error().code, Code::kFailedPrecondition);
  EXPECT_THAT(evidence.error().message, testing::HasSubstr("kiln-no"));
  EXPECT_THAT(evidence.error().message, testing::HasSubstr("kiln-decompose"));
}

TEST(Rewrite, IsDeterministic) {
  Rewritten first = rewriteNetwork(), second = rewriteNetwork();
  EXPECT_EQ(textOf(*first.model->captured.module), textOf(*second.model->captured.module));
  const ir::WeightTable &a = first.model->captured.weights, &b = second.model->captured.weights;
  ASSERT_EQ(a.size(), b.size());
  for (std::int64_t i = 0; i < a.size(); ++i)
    EXPECT_TRUE(std::ranges::equal(a.find(i)->bytes, b.find(i)->bytes)) << i;
}

}  // namespace
}  // namespace kiln
