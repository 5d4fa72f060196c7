// Gradient of ai.onnx.preview.training, against finite differences of the reference evaluator.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "tests/compiler_core/frontend/run_model.h"

namespace kiln {
namespace {

using testing::DoubleEq;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pointwise;
using namespace testing_support;

constexpr char kTraining[] = "ai.onnx.preview.training";

HostTensor doubles(std::vector<std::int64_t> shape, const std::vector<double>& values) {
  return HostTensor::of(DType::kF64, std::move(shape), values);
}
std::vector<double> doublesOf(const HostTensor& tensor) {
  return {tensor.data<double>(), tensor.data<double>() + tensor.elements()};
}

// Values in [low, high) without pattern, the same on every run.
HostTensor varied(std::vector<std::int64_t> shape, double low, double high, std::uint32_t seed) {
  HostTensor tensor = HostTensor::zeros(DType::kF64, std::move(shape));
  for (std::int64_t i = 0; i < tensor.elements(); ++i) {
    seed = seed * 1664525u + 1013904223u;
    tensor.data<double>()[i] = low + (high - low) * (seed >> 8) / (1u << 24);
  }
  return tensor;
}

struct Step {
  std::string op;
  std::vector<std::string> inputs;
  std::vector<ProtoMessage> attributes = {};
};

// A model whose inputs are x0, x1..., whose nodes are called after what they make, v0, v1..., the last of
// them y; with `gradient`, the outputs are the gradients, else y.
OnnxBuilder model(const std::vector<HostTensor>& inputs, const std::vector<Step>& steps, bool gradient,
                  const std::vector<ProtoMessage>& constants = {}) {
  OnnxBuilder builder(17);
  builder.importDomain(kTraining, 1);
  std::vector<std::string> names, results;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    names.push_back("x" + std::to_string(i));
    results.push_back("d" + std::to_string(i));
    builder.input(names.back(), {inputs[i].shape.begin(), inputs[i].shape.end()}, kOnnxDouble);
  }
  for (const ProtoMessage& constant : constants) builder.initializer(constant);
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const std::string made = i + 1 == steps.size() ? "y" : "v" + std::to_string(i);
    builder.node(steps[i].op, steps[i].inputs, {made}, steps[i].attributes, "make_" + made);
  }
  if (!gradient) return builder.output("y", kOnnxDouble);
  builder.node("Gradient", names, results, {onnxTexts("xs", names), onnxText("y", "y")}, "slope", kTraining);
  for (const std::string& result : results) builder.output(result, kOnnxDouble);
  return builder;
}

double total(const HostTensor& tensor) {
  double sum = 0;
  for (double value : doublesOf(tensor)) sum += value;
  return sum;
}

void expectSlopes(const std::vector<HostTensor>& inputs, const std::vector<Step>& steps,
                  const std::vector<ProtoMessage>& constants = {}) {
  SCOPED_TRACE(steps.front().op);
  auto slopes = run(model(inputs, steps, true, constants), inputs);
  ASSERT_TRUE(slopes) << slopes.error().message;
  auto value = import(model(inputs, steps, false, constants).build());
  ASSERT_TRUE(value) << value.error().message;
  const auto sumAt = [&](const std::vector<HostTensor>& at) {
    auto y = reference::evaluate(*(*value)->captured.module, (*value)->captured.weights, at);
    EXPECT_TRUE(y);
    return y ? total((*y)[0]) : 0;
  };
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    ASSERT_EQ((*slopes)[i].shape, inputs[i].shape);
    for (std::int64_t k = 0; k < inputs[i].elements(); ++k) {
      constexpr double kStep = 1e-5;
      auto up = inputs, down = inputs;
      up[i].data<double>()[k] += kStep;
      down[i].data<double>()[k] -= kStep;
      const double expected = (sumAt(up) - sumAt(down)) / (2 * kStep);
      EXPECT_NEAR((*slopes)[i].data<double>()[k], expected, 1e-6 * std::max(1.0, std::fabs(expected)))
          << "input " << i << " element " << k;
    }
  }
}

TEST(Gradient, OfTheOperatorsExamples) {
  const std::vector<HostTensor> ab = {doubles({}, {3}), doubles({}, {5})};
  auto add = run(model(ab, {{"Add", {"x0", "x1"}}}, true), ab);
  ASSERT_TRUE(add) << add.error().message;
  EXPECT_THAT(doublesOf((*add)[0]), ElementsAre(1));
  EXPECT_THAT(doublesOf((*add)[1]), ElementsAre(1));
  // d = (a + b) * a
  auto product = run(model(ab, {{"Add", {"x0", "x1"}}, {"Mul", {"v0", "x0"}}}, true), ab);
  ASSERT_TRUE(product) << product.error().message;
  EXPECT_THAT(doublesOf((*product)[0]), ElementsAre(11));
  EXPECT_THAT(doublesOf((*product)[1]), ElementsAre(3));
}

TEST(Gradient, OfFunctionsOfOneValue) {
  const auto weigh = onnxTensor("f", {3}, std::vector<float>{1, 2, -3});
  const std::vector<Step> tail = {{"Cast", {"f"}, {onnxInt("to", kOnnxDouble)}}, {"Mul", {"v0", "v1"}}};
  for (const std::string op :
       {"Neg",      "Exp",  "Tanh", "Erf",       "Sigmoid",     "Relu",     "Abs",  "Sin",  "Cos",
        "Tan",      "Atan", "Sinh", "Cosh",      "Asinh",       "Softplus", "Asin", "Acos", "Atanh",
        "Softsign", "Elu",  "Selu", "LeakyRelu", "HardSigmoid", "Identity", "Floor"})
    expectSlopes({varied({2, 3}, -0.9, 0.9, 7)}, {{op, {"x0"}}, tail[0], tail[1]}, {weigh});
  for (const std::string op : {"Log", "Sqrt", "Reciprocal", "Acosh"})
    expectSlopes({varied({2, 3}, 1.1, 3, 7)}, {{op, {"x0"}}, tail[0], tail[1]}, {weigh});
}

TEST(Gradient, OfArithmeticThatBroadcasts) {
  const std::vector<HostTensor> inputs = {varied({2, 1, 3}, 0.5, 2, 1), varied({4, 1}, 0.5, 2, 2)};
  for (const std::string op : {"Add", "Sub", "Mul", "Div", "Max", "Min"})
    expectSlopes(inputs, {{op, {"x0", "x1"}}, {"Mul", {"v0", "v0"}}});
  const auto exponent = onnxTensor("e", {3}, std::vector<float>{2, 0.5, -1});
  expectSlopes({inputs[0]}, {{"Pow", {"x0", "e"}}, {"Mul", {"v0", "x0"}}}, {exponent});
  const auto where = onnxTensor("w", {3}, std::vector<float>{1, -1, 1});
  expectSlopes(inputs,
               {{"Sign", {"w"}},
                {"Cast", {"v0"}, {onnxInt("to", kOnnxDouble)}},
                {"Less", {"v1", "x0"}},
                {"Where", {"v2", "x0", "x1"}},
                {"Mul", {"v3", "x1"}}},
               {where});
}

TEST(Gradient, OfProducts) {
  expectSlopes({varied({2, 3, 4}, -1, 1, 1), varied({4, 5}, -1, 1, 2)},
               {{"MatMul", {"x0", "x1"}}, {"Mul", {"v0", "v0"}}});
  expectSlopes({varied({3, 4}, -1, 1, 1), varied({4}, -1, 1, 2)},
               {{"MatMul", {"x0", "x1"}}, {"Exp", {"v0"}}});
  expectSlopes({varied({4, 3}, -1, 1, 1), varied({5, 4}, -1, 1, 2), varied({5}, -1, 1, 3)},
               {{"Gemm",
                 {"x0", "x1", "x2"},
                 {onnxInt("transA", 1), onnxInt("transB", 1), onnxReal("alpha", 0.5f), onnxReal("beta", 2)}},
                {"Tanh", {"v0"}}});
  expectSlopes({varied({2, 3}, -1, 1, 1), varied({2, 3}, -1, 1, 2)},
               {{"Einsum", {"x0", "x1"}, {onnxText("equation", "ij,ik->jk")}}, {"Mul", {"v0", "v0"}}});
}

TEST(Gradient, OfReductionsAndSoftmax) {
  const std::vector<HostTensor> x = {varied({2, 3, 4}, -1, 1, 5)};
  for (const std::string op : {"ReduceMean", "ReduceMax", "ReduceMin", "ReduceL2", "ReduceLogSumExp"})
    for (int keep : {0, 1})
      expectSlopes(x, {{op, {"x0"}, {onnxInts("axes", {1}), onnxInt("keepdims", keep)}}, {"Exp", {"v0"}}});
  const auto axes = onnxTensor("axes", {2}, std::vector<std::int64_t>{0, -1});
  expectSlopes(x, {{"ReduceSum", {"x0", "axes"}}, {"Exp", {"v0"}}}, {axes});
  for (const std::string op : {"Softmax", "LogSoftmax"})
    expectSlopes(x, {{op, {"x0"}, {onnxInt("axis", 1)}}, {"Mul", {"v0", "x0"}}});
  const auto axis = onnxTensor("axis", {}, std::vector<std::int64_t>{1});
  expectSlopes(x, {{"CumSum", {"x0", "axis"}, {onnxInt("exclusive", 1)}}, {"Mul", {"v0", "x0"}}}, {axis});
}

TEST(Gradient, OfMovement) {
  const std::vector<HostTensor> x = {varied({4, 6}, -1, 1, 5)}, two = {x[0], varied({4, 2}, -1, 1, 6)};
  const auto ints = [](std::string_view name, std::vector<std::int64_t> values) {
    return onnxTensor(name, {static_cast<std::int64_t>(values.size())}, values);
  };
  const auto squared = [](Step step) { return std::vector<Step>{std::move(step), {"Mul", {"v0", "v0"}}}; };
  expectSlopes(x, squared({"Reshape", {"x0", "s"}}), {ints("s", {3, 8})});
  expectSlopes(x, squared({"Transpose", {"x0"}}));
  expectSlopes(two, squared({"Concat", {"x0", "x1", "x0"}, {onnxInt("axis", 1)}}));
  expectSlopes(x, squared({"Slice", {"x0", "from", "to", "axes", "steps"}}),
               {ints("from", {-1, 1}), ints("to", {-5, 6}), ints("axes", {0, 1}), ints("steps", {-2, 2})});
  expectSlopes(x, squared({"Pad", {"x0", "p"}}), {ints("p", {1, -1, 2, 3})});
  expectSlopes(x, squared({"Expand", {"x0", "s"}}), {ints("s", {2, 4, 6})});
  expectSlopes(x, squared({"Gather", {"x0", "at"}, {onnxInt("axis", 1)}}), {ints("at", {0, -1, 3, 3})});
  expectSlopes(x, squared({"Tile", {"x0", "r"}}), {ints("r", {2, 1})});
}

TEST(Gradient, IsZeroWhereNothingDepends) {
  const std::vector<HostTensor> inputs = {doubles({2}, {1, 2}), doubles({3}, {1, 2, 3})};
  auto slopes = run(model(inputs, {{"Exp", {"x0"}}}, true), inputs);
  ASSERT_TRUE(slopes) << slopes.error().message;
  EXPECT_THAT(doublesOf((*slopes)[1]), ElementsAre(0, 0, 0));
}

// A small constant is folded into what is calculated from it; its gradient must not be.
TEST(Gradient, WithRespectToAnInitializer) {
  OnnxBuilder builder(17);
  builder.importDomain(kTraining, 1)
      .input("x", {2})
      .initializer(onnxTensor("w", {2}, std::vector<float>{3, 4}));
  builder.node("Mul", {"w", "w"}, {"square"}).node("Mul", {"square", "x"}, {"y"});
  builder.node("Gradient", {"w", "x"}, {"dw", "dx"}, {onnxTexts("xs", {"w", "x"}), onnxText("y", "y")}, "",
               kTraining);
  builder.output("dw").output("dx");
  auto slopes = run(builder, {floats({2}, {5, 7})});
  ASSERT_TRUE(slopes) << slopes.error().message;
  EXPECT_THAT(floatsOf((*slopes)[0]), ElementsAre(30, 56));
  EXPECT_THAT(floatsOf((*slopes)[1]), ElementsAre(9, 16));
}

TEST(Gradient, WithRespectToAnInnerTensorAtOtherValues) {
  OnnxBuilder builder(17);
  builder.importDomain(kTraining, 1).input("x", {2}).input("h1", {2}).input("z1", {2});
  builder.node("Exp", {"x"}, {"h"}).node("Neg", {"x"}, {"z"}).node("Mul", {"h", "h"}, {"q"});
  builder.node("Mul", {"q", "z"}, {"y"});
  builder.node("Gradient", {"h1", "z1"}, {"dh"},
               {onnxTexts("xs", {"h"}), onnxTexts("zs", {"z"}), onnxText("y", "y")}, "", kTraining);
  builder.output("dh");
  auto slopes = run(builder, {floats({2}, {1, 1}), floats({2}, {2, 3}), floats({2}, {10, 100})});
  ASSERT_TRUE(slopes) << slopes.error().message;
  EXPECT_THAT(floatsOf((*slopes)[0]), ElementsAre(40, 600));  // 2 h z
}

TEST(Gradient, OfAGradient) {
  OnnxBuilder builder(17);
  builder.importDomain(kTraining, 1).input("x", {3});
  builder.node("Mul", {"x", "x"}, {"q"}).node("Mul", {"q", "x"}, {"y"});
  builder.node("Gradient", {"x"}, {"first"}, {onnxTexts("xs", {"x"}), onnxText("y", "y")}, "", kTraining);
  builder.node("Gradient", {"x"}, {"second"}, {onnxTexts("xs", {"x"}), onnxText("y", "first")}, "",
               kTraining);
  builder.output("first").output("second");
  auto slopes = run(builder, {floats({3}, {1, 2, -3})});
  ASSERT_TRUE(slopes) << slopes.error().message;
  EXPECT_THAT(floatsOf((*slopes)[0]), ElementsAre(3, 12, 27));
  EXPECT_THAT(floatsOf((*slopes)[1]), ElementsAre(6, 12, -18));
}

TEST(Gradient, RefusesByName) {
  const std::vector<HostTensor> image = {varied({1, 1, 4, 4}, -1, 1, 1), varied({1, 1, 2, 2}, -1, 1, 2)};
  auto conv = run(model(image, {{"Conv", {"x0", "x1"}}, {"Exp", {"v0"}}}, true), image);
  ASSERT_FALSE(conv);
  EXPECT_EQ(conv.error().code, Code::kUnimplemented);
  EXPECT_THAT(conv.error().message, HasSubstr("kiln.conv"));
  EXPECT_THAT(conv.error().message, HasSubstr("slope/make_v0"));
  const std::vector<HostTensor> x = {doubles({2}, {1, 2})};
  auto exponent = run(model(x, {{"Pow", {"x0", "x0"}}}, true), x);
  ASSERT_FALSE(exponent);
  EXPECT_THAT(exponent.error().message, HasSubstr("pow by its exponent"));
}

TEST(Gradient, RefusesWrongModels) {
  const auto message = [](const std::vector<std::string>& inputs, const std::vector<std::string>& outputs,
                          const std::vector<ProtoMessage>& attributes) {
    OnnxBuilder builder(17);
    builder.importDomain(kTraining, 1).input("x", {2}).input("i", {2}, kOnnxInt64);
    builder.node("Neg", {"x"}, {"y"}).node("Shape", {"x"}, {"s"});
    builder.node("Gradient", inputs, outputs, attributes, "g", kTraining).output(outputs[0]);
    auto made = import(builder.build());
    if (made) return std::string("made");
    EXPECT_EQ(made.error().code, Code::kInvalidArgument);
    return made.error().message;
  };
  const auto xs = onnxTexts("xs", {"x"});
  EXPECT_EQ(message({"x"}, {"d"}, {xs, onnxText("y", "y")}), "made");
  EXPECT_THAT(message({"x"}, {"d"}, {xs}), HasSubstr("required"));
  EXPECT_THAT(message({"x"}, {"d"}, {onnxText("y", "y")}), HasSubstr("required"));
  EXPECT_THAT(message({"x"}, {"d"}, {xs, onnxText("y", "nothing")}),
              HasSubstr("'nothing' is defined by nothing"));
  EXPECT_THAT(message({"x", "x"}, {"d"}, {xs, onnxText("y", "y")}), HasSubstr("there are 2 inputs"));
  EXPECT_THAT(message({"x"}, {"d", "e"}, {xs, onnxText("y", "y")}), HasSubstr("more outputs"));
  EXPECT_THAT(message({"x", "x"}, {"d"}, {onnxTexts("xs", {"x", "x"}), onnxText("y", "y")}),
              HasSubstr("twice"));
  EXPECT_THAT(message({"i"}, {"d"}, {xs, onnxText("y", "y")}), HasSubstr("floating-point"));
  EXPECT_THAT(message({"x"}, {"d"}, {xs, onnxText("y", "s")}), HasSubstr("floating-point"));
}

// Each of two asks for what the other makes.
TEST(Gradient, EndsWhereGradientsChaseEachOther) {
  OnnxBuilder builder(17);
  builder.importDomain(kTraining, 1).input("x", {2});
  builder.node("Gradient", {"x"}, {"a"}, {onnxTexts("xs", {"x"}), onnxText("y", "b")}, "", kTraining);
  builder.node("Gradient", {"x"}, {"b"}, {onnxTexts("xs", {"x"}), onnxText("y", "a")}, "", kTraining);
  auto made = import(builder.output("a").build());
  ASSERT_FALSE(made);
  EXPECT_THAT(made.error().message, HasSubstr("nested deeper"));
}

// Each derivative is some times as long as the one before it.
TEST(Gradient, EndsWhereDerivativesGrowWithoutBound) {
  OnnxBuilder builder(17);
  builder.importDomain(kTraining, 1).input("x", {2});
  builder.node("Div", {"x", "x"}, {"e"}).node("Tanh", {"e"}, {"d0"});
  for (int i = 0; i < 30; ++i)
    builder.node("Gradient", {"x"}, {"d" + std::to_string(i + 1)},
                 {onnxTexts("xs", {"x"}), onnxText("y", "d" + std::to_string(i))}, "", kTraining);
  auto made = import(builder.output("d30").build());
  ASSERT_FALSE(made);
  EXPECT_THAT(made.error().message, HasSubstr("expand to more than"));
}

}  // namespace
}  // namespace kiln
