// RNN, GRU and LSTM against their equations.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "tests/compiler_core/frontend/run_model.h"

namespace kiln {
namespace {

using testing::FloatNear;
using testing::HasSubstr;
using testing::Pointwise;
using namespace testing_support;

std::vector<float> noise(std::size_t count, unsigned seed) {
  std::mt19937 engine(seed);
  std::vector<float> values(count);
  for (float& value : values) value = static_cast<float>(engine() % 2001) / 1000.0f - 1.0f;
  return values;
}

struct Sizes {
  std::int64_t steps, batch, inputs, hidden, directions = 1;
};

// A model of one recurrent node with constant weights; its inputs are X and the initial states.
OnnxBuilder model(const std::string& op, const Sizes& s, std::vector<ProtoMessage> attributes,
                  const std::vector<std::int64_t>& lengths = {}) {
  const std::int64_t gates = op == "RNN" ? 1 : op == "GRU" ? 3 : 4, h = s.hidden, d = s.directions;
  attributes.push_back(onnxInt("hidden_size", h));
  OnnxBuilder builder(14);
  auto weights = [&](std::string_view name, std::vector<std::int64_t> dims, unsigned seed) {
    std::size_t count = 1;
    for (std::int64_t dim : dims) count *= static_cast<std::size_t>(dim);
    builder.initializer(onnxTensor(name, dims, noise(count, seed)));
  };
  builder.input("x", {s.steps, s.batch, s.inputs}).input("h", {d, s.batch, h}).output("y").output("y_h");
  weights("w", {d, gates * h, s.inputs}, 1);
  weights("r", {d, gates * h, h}, 2);
  weights("b", {d, 2 * gates * h}, 3);
  std::vector<std::string> operands{"x", "w", "r", "b", "", "h"}, results{"y", "y_h"};
  if (!lengths.empty()) {
    builder.initializer(onnxTensor("lengths", {s.batch}, lengths));
    operands[4] = "lengths";
  }
  if (op == "LSTM") {
    builder.input("c", {d, s.batch, h}).output("y_c");
    weights("p", {d, 3 * h}, 4);
    operands.insert(operands.end(), {"c", "p"});
    results.push_back("y_c");
  }
  return builder.node(op, operands, results, attributes);
}

std::vector<HostTensor> inputs(const std::string& op, const Sizes& s, unsigned seed = 10) {
  auto tensor = [](std::vector<std::int64_t> shape, unsigned from) {
    std::size_t count = 1;
    for (std::int64_t dim : shape) count *= static_cast<std::size_t>(dim);
    return floats(shape, noise(count, from));
  };
  std::vector<HostTensor> all{tensor({s.steps, s.batch, s.inputs}, seed),
                              tensor({s.directions, s.batch, s.hidden}, seed + 1)};
  if (op == "LSTM") all.push_back(tensor({s.directions, s.batch, s.hidden}, seed + 2));
  return all;
}

std::vector<HostTensor> outputs(const OnnxBuilder& builder, const std::vector<HostTensor>& given) {
  auto result = run(builder, given);
  EXPECT_TRUE(result) << (result ? "" : result.error().message);
  return result ? *result : std::vector<HostTensor>();
}

double sigmoid(double x) {
  return 1 / (1 + std::exp(-x));
}

// One step of LSTM with peepholes in f64, from the operator's equations.
TEST(Recurrent, LstmFollowsItsEquations) {
  const Sizes s{1, 1, 2, 2};
  const auto in = inputs("LSTM", s);
  const auto w = noise(16, 1), r = noise(16, 2), b = noise(16, 3), p = noise(6, 4);
  const auto x = floatsOf(in[0]), h = floatsOf(in[1]), c = floatsOf(in[2]);
  std::vector<float> expectedH, expectedC;
  for (int k = 0; k < 2; ++k) {
    auto sum = [&](int gate) {
      const int row = gate * 2 + k;
      return double{w[row * 2]} * x[0] + double{w[row * 2 + 1]} * x[1] + double{r[row * 2]} * h[0] +
             double{r[row * 2 + 1]} * h[1] + b[row] + b[8 + row];
    };
    const double i = sigmoid(sum(0) + p[k] * c[k]), f = sigmoid(sum(2) + p[4 + k] * c[k]);
    const double next = f * c[k] + i * std::tanh(sum(3)), o = sigmoid(sum(1) + p[2 + k] * next);
    expectedC.push_back(static_cast<float>(next));
    expectedH.push_back(static_cast<float>(o * std::tanh(next)));
  }
  const auto got = outputs(model("LSTM", s, {}), in);
  ASSERT_EQ(got.size(), 3u);
  EXPECT_THAT(floatsOf(got[1]), Pointwise(FloatNear(1e-5f), expectedH));
  EXPECT_THAT(floatsOf(got[2]), Pointwise(FloatNear(1e-5f), expectedC));
}

TEST(Recurrent, GruAppliesTheResetGateBeforeOrBehindTheProduct) {
  const Sizes s{1, 1, 1, 1};
  const auto in = inputs("GRU", s);
  const auto w = noise(3, 1), r = noise(3, 2), b = noise(6, 3);
  const double x = floatsOf(in[0])[0], h = floatsOf(in[1])[0];
  const double z = sigmoid(w[0] * x + r[0] * h + b[0] + b[3]),
               reset = sigmoid(w[1] * x + r[1] * h + b[1] + b[4]);
  for (int linear : {0, 1}) {
    const double candidate = linear ? std::tanh(w[2] * x + b[2] + reset * (r[2] * h + b[5]))
                                    : std::tanh(w[2] * x + b[2] + b[5] + r[2] * (reset * h));
    const std::vector<float> expected{static_cast<float>((1 - z) * candidate + z * h)};
    const auto got = outputs(model("GRU", s, {onnxInt("linear_before_reset", linear)}), in);
    ASSERT_EQ(got.size(), 2u);
    EXPECT_THAT(floatsOf(got[0]), Pointwise(FloatNear(1e-5f), expected)) << linear;
  }
}

// Two halves, the states handed over, are the whole: unrolled against a loop.
TEST(Recurrent, ALoopEqualsItsUnrolledHalves) {
  for (const std::string op : {"RNN", "GRU", "LSTM"}) {
    const Sizes whole{8, 2, 3, 4}, half{4, 2, 3, 4};
    const auto all = inputs(op, whole);
    const auto expected = outputs(model(op, whole, {}), all);
    ASSERT_FALSE(expected.empty()) << op;
    auto given = all;
    const auto x = floatsOf(all[0]);
    std::vector<float> y;
    for (std::size_t part : {0, 1}) {
      given[0] = floats({4, 2, 3}, {x.begin() + part * 24, x.begin() + (part + 1) * 24});
      const auto got = outputs(model(op, half, {}), given);
      ASSERT_EQ(got.size(), expected.size());
      const auto rows = floatsOf(got[0]);
      y.insert(y.end(), rows.begin(), rows.end());
      for (std::size_t k = 1; k < got.size(); ++k) given[k] = got[k];
    }
    EXPECT_EQ(y, floatsOf(expected[0])) << op;
    for (std::size_t k = 1; k < expected.size(); ++k) EXPECT_EQ(given[k], expected[k]) << op << k;
  }
}

TEST(Recurrent, TheReverseDirectionIsTheForwardOneOnReversedSteps) {
  const Sizes s{6, 1, 2, 3};
  auto in = inputs("GRU", s);
  const auto backward = outputs(model("GRU", s, {onnxText("direction", "reverse")}), in);
  auto x = floatsOf(in[0]);
  std::vector<float> reversed;
  for (std::size_t step = 6; step-- > 0;)
    reversed.insert(reversed.end(), x.begin() + step * 2, x.begin() + step * 2 + 2);
  in[0] = floats({6, 1, 2}, reversed);
  const auto forward = outputs(model("GRU", s, {}), in);
  ASSERT_EQ(backward.size(), 2u);
  EXPECT_EQ(backward[1], forward[1]);
}

TEST(Recurrent, SequencesEndAtTheirLengths) {
  // The first sequence of the batch ends after 2 of 5 steps.
  const Sizes s{5, 2, 2, 3}, alone{2, 2, 2, 3};
  auto in = inputs("RNN", s);
  const auto got = outputs(model("RNN", s, {}, {2, 5}), in);
  ASSERT_EQ(got.size(), 2u);
  const auto y = floatsOf(got[0]), last = floatsOf(got[1]);
  for (std::size_t step = 2; step < 5; ++step)
    for (std::size_t k = 0; k < 3; ++k) EXPECT_EQ(y[step * 6 + k], 0) << step;
  const auto x = floatsOf(in[0]);
  in[0] = floats({2, 2, 2}, {x.begin(), x.begin() + 8});
  const auto ended = floatsOf(outputs(model("RNN", alone, {}), in)[1]);
  EXPECT_EQ(std::vector<float>(last.begin(), last.begin() + 3),
            std::vector<float>(ended.begin(), ended.begin() + 3));
}

TEST(Recurrent, ActivationsTakeTheirParametersInOrder) {
  const Sizes s{1, 1, 1, 1, 2};
  const auto in = inputs("RNN", s);
  const auto w = noise(2, 1), r = noise(2, 2), b = noise(4, 3);
  const float x = floatsOf(in[0])[0];
  const auto h = floatsOf(in[1]);
  std::vector<float> expected;
  for (int d : {0, 1}) {
    const double sum = w[d] * x + r[d] * h[d] + b[d * 2] + b[d * 2 + 1];
    expected.push_back(
        static_cast<float>(d == 0 ? 2 * sum + 0.25 : std::max(0.0, std::min(1.0, 3 * sum + 0.5))));
  }
  const auto got = outputs(
      model("RNN", s,
            {onnxText("direction", "bidirectional"), onnxTexts("activations", {"Affine", "HardSigmoid"}),
             onnxReals("activation_alpha", {2, 3}), onnxReals("activation_beta", {0.25f, 0.5f})}),
      in);
  ASSERT_EQ(got.size(), 2u);
  EXPECT_THAT(floatsOf(got[1]), Pointwise(FloatNear(1e-5f), expected));
}

TEST(Recurrent, WrongOperandsAreNamed) {
  OnnxBuilder builder(14);
  builder.input("x", {1, 1, 2}).output("y");
  builder.initializer(onnxTensor("w", {1, 3, 2}, noise(6, 1)))
      .initializer(onnxTensor("r", {1, 3, 2}, noise(6, 2)));
  auto imported = import(builder.node("RNN", {"x", "w", "r"}, {"y"}).build());
  ASSERT_FALSE(imported);
  EXPECT_THAT(imported.error().message, HasSubstr("W has shape 1x3x2, expected 1x2x2"));
}

}  // namespace
}  // namespace kiln
