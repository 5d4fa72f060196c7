// ai.onnx.ml without trees: features, encoders, linear models and support vector machines, by value, and what
// is refused with which words.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tests/compiler_core/frontend/run_model.h"

namespace kiln {
namespace {

using testing::ElementsAre;
using testing::FloatNear;
using testing::HasSubstr;
using testing::Pointwise;
using namespace testing_support;

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

using Reals = std::vector<float>;
using Attributes = std::vector<ProtoMessage>;

// x (of shape 2 x 2 where nothing else is said) -> op -> the outputs named.
OnnxBuilder modelOf(std::string_view op, const Attributes& attributes,
                    const std::vector<int>& types = {kOnnxFloat}, const std::vector<OnnxDim>& shape = {2, 2},
                    int input = kOnnxFloat) {
  OnnxBuilder model(18);
  model.importDomain("ai.onnx.ml", 3).input("x", shape, input);
  std::vector<std::string> outputs;
  for (int type : types) {
    outputs.push_back("y" + std::to_string(outputs.size()));
    model.output(outputs.back(), type);
  }
  return model.node(op, {"x"}, outputs, attributes, "culprit", "ai.onnx.ml");
}

std::vector<HostTensor> outputsOf(const OnnxBuilder& model, const HostTensor& x) {
  auto outputs = run(model, {x});
  EXPECT_TRUE(outputs) << (outputs ? "" : outputs.error().message);
  return outputs ? *outputs : std::vector<HostTensor>(2, floats({}, {kNan}));
}

std::vector<float> valuesOf(std::string_view op, const Attributes& attributes,
                            const HostTensor& x = floats({2, 2}, {1, 2, 3, 4})) {
  return floatsOf(outputsOf(modelOf(op, attributes), x).front());
}

std::vector<std::int64_t> longsOf(const HostTensor& tensor) {
  const auto* data = tensor.data<std::int64_t>();
  return {data, data + tensor.elements()};
}

// Labels and scores.
struct Answer {
  std::vector<std::int64_t> labels;
  std::vector<float> scores;
};
Answer classified(std::string_view op, const Attributes& attributes, const HostTensor& x) {
  const auto outputs =
      outputsOf(modelOf(op, attributes, {kOnnxInt64, kOnnxFloat}, {x.shape[0], x.shape[1]}), x);
  return {longsOf(outputs[0]), floatsOf(outputs[1])};
}

Error errorOf(const OnnxBuilder& model) {
  auto imported = import(model.build());
  return imported ? Error{Code::kUnknown, "imported"} : imported.error();
}
void expectError(const OnnxBuilder& model, Code code, const std::string& words) {
  const Error error = errorOf(model);
  EXPECT_EQ(error.code, code) << error.message;
  EXPECT_THAT(error.message, HasSubstr(words));
  EXPECT_THAT(error.message, HasSubstr("culprit"));
}

TEST(Ml, ScalerSubtractsThenMultiplies) {
  EXPECT_THAT(valuesOf("Scaler", {onnxReals("offset", {1, 2}), onnxReals("scale", {10, 100})}),
              ElementsAre(0, 0, 20, 200));
  EXPECT_THAT(valuesOf("Scaler", {onnxReals("offset", {1}), onnxReals("scale", {2})}),
              ElementsAre(0, 2, 4, 6));
  const auto whole = outputsOf(modelOf("Scaler", {onnxReals("offset", {0.5f}), onnxReals("scale", {2})},
                                       {kOnnxFloat}, {2}, kOnnxInt64),
                               longs({2}, {1, 2}));
  EXPECT_THAT(floatsOf(whole[0]), ElementsAre(1, 3));
  EXPECT_THAT(whole[0].shape, ElementsAre(2));
  expectError(modelOf("Scaler", {onnxReals("offset", {1}), onnxReals("scale", {1, 2})}),
              Code::kInvalidArgument, "1 offsets and 2 scales");
  expectError(modelOf("Scaler", {onnxReals("offset", {1, 2, 3}), onnxReals("scale", {1, 2, 3})}),
              Code::kInvalidArgument, "3 values for 2 features");
}

TEST(Ml, NormalizerByEveryNormLeavesRowsOfZeros) {
  const HostTensor x = floats({3, 2}, {-4, 2, 0, 0, -3, -1});
  auto normalized = [&](const char* norm) {
    return floatsOf(
        outputsOf(modelOf("Normalizer", {onnxText("norm", norm)}, {kOnnxFloat}, {3, 2}), x).front());
  };
  EXPECT_THAT(normalized("MAX"), ElementsAre(-2, 1, 0, 0, 3, 1));
  EXPECT_THAT(normalized("L1"), Pointwise(FloatNear(1e-6f), Reals{-4 / 6.f, 2 / 6.f, 0, 0, -0.75f, -0.25f}));
  const float a = std::sqrt(20.f), b = std::sqrt(10.f);
  EXPECT_THAT(normalized("L2"), Pointwise(FloatNear(1e-6f), Reals{-4 / a, 2 / a, 0, 0, -3 / b, -1 / b}));
  expectError(modelOf("Normalizer", {onnxText("norm", "L3")}), Code::kInvalidArgument, "'norm' is 'L3'");
  expectError(modelOf("Normalizer", {}, {kOnnxFloat}, {2, 3, 4}), Code::kInvalidArgument, "3 dimensions");
  expectError(modelOf("Normalizer", {}, {kOnnxFloat}, {}), Code::kInvalidArgument, "0 dimensions");
}

TEST(Ml, ImputerReplacesNanAndNumbers) {
  const HostTensor x = floats({2, 2}, {kNan, 3, 4, kNan});
  EXPECT_THAT(
      valuesOf("Imputer", {onnxReals("imputed_value_floats", {1, 2}), onnxReal("replaced_value_float", kNan)},
               x),
      ElementsAre(1, 3, 4, 2));
  EXPECT_THAT(
      valuesOf("Imputer", {onnxReals("imputed_value_floats", {9}), onnxReal("replaced_value_float", 4)},
               floats({2, 2}, {1, 4, 4, 2})),
      ElementsAre(1, 9, 9, 2));
  const std::int64_t large = (std::int64_t{1} << 60) + 1;
  const auto whole = outputsOf(
      modelOf("Imputer", {onnxInts("imputed_value_int64s", {7, large}), onnxInt("replaced_value_int64", -1)},
              {kOnnxInt64}, {2, 2}, kOnnxInt64),
      longs({2, 2}, {-1, 3, 4, -1}));
  EXPECT_THAT(longsOf(whole[0]), ElementsAre(7, 3, 4, large));
  expectError(modelOf("Imputer", {onnxInts("imputed_value_int64s", {7})}), Code::kInvalidArgument,
              "are for an input of floats");
  expectError(modelOf("Imputer", {}), Code::kInvalidArgument, "imputed_value_floats");
  expectError(modelOf("Imputer", {onnxReals("imputed_value_floats", {1, 2, 3})}), Code::kInvalidArgument,
              "3 values for 2 features");
}

TEST(Ml, FeatureVectorizerCutsAndFills) {
  OnnxBuilder model(18);
  model.importDomain("ai.onnx.ml", 1).input("a", {2, 3}).input("b", {2, 1}, kOnnxInt64).output("y");
  model.node("FeatureVectorizer", {"a", "b"}, {"y"}, {onnxInts("inputdimensions", {2, 3})}, "culprit",
             "ai.onnx.ml");
  auto outputs = run(model, {floats({2, 3}, {1, 2, 3, 4, 5, 6}), longs({2, 1}, {7, 8})});
  ASSERT_TRUE(outputs) << outputs.error().message;
  EXPECT_THAT(floatsOf(outputs->at(0)), ElementsAre(1, 2, 7, 0, 0, 4, 5, 8, 0, 0));
  expectError(modelOf("FeatureVectorizer", {onnxInts("inputdimensions", {1, 2})}), Code::kInvalidArgument,
              "2 widths for 1 inputs");
  expectError(modelOf("FeatureVectorizer", {onnxInts("inputdimensions", {INT64_MAX})}),
              Code::kInvalidArgument, "absurd");
}

TEST(Ml, OneHotEncoderKnowsItsCategories) {
  const auto hot = outputsOf(modelOf("OneHotEncoder", {onnxInts("cats_int64s", {1, 3})}),
                             floats({2, 2}, {1.7f, -2, 3, 9}));
  EXPECT_THAT(floatsOf(hot[0]), ElementsAre(1, 0, 0, 0, 0, 1, 0, 0));
  EXPECT_THAT(hot[0].shape, ElementsAre(2, 2, 2));
  expectError(modelOf("OneHotEncoder", {onnxTexts("cats_strings", {"a"})}), Code::kUnimplemented,
              "in the graph of the model alone");
  expectError(modelOf("OneHotEncoder", {}), Code::kInvalidArgument, "missing");
  expectError(modelOf("OneHotEncoder", {onnxInts("cats_int64s", {1, 1})}), Code::kInvalidArgument,
              "named twice");
}

TEST(Ml, OneHotEncoderCountsWhatIsNoCategory) {
  auto model = import(modelOf("OneHotEncoder", {onnxInts("cats_int64s", {1, 3}), onnxInt("zeros", 0)},
                              {kOnnxFloat}, {4}, kOnnxInt64)
                          .build());
  ASSERT_TRUE(model) << model.error().message;
  auto outputs =
      reference::evaluate(*(*model)->captured.module, (*model)->captured.weights, {longs({4}, {1, 2, 3, 4})});
  ASSERT_TRUE(outputs) << outputs.error().message;
  ASSERT_EQ(outputs->size(), 2u);
  EXPECT_THAT(longsOf(outputs->at(1)), ElementsAre(2));
}

TEST(Ml, LabelEncoderMapsNumbers) {
  const std::int64_t large = (std::int64_t{1} << 60) + 1;
  auto mapped = [&](const Attributes& attributes, const HostTensor& x, int from, int to) {
    return outputsOf(modelOf("LabelEncoder", attributes, {to}, {x.shape[0]}, from), x).front();
  };
  // The first of equal keys; 64 bits exactly.
  EXPECT_THAT(longsOf(mapped({onnxInts("keys_int64s", {5, large, 5, -3}),
                              onnxInts("values_int64s", {1, large - 2, 8, 3})},
                             longs({5}, {5, large, large - 1, -3, 9}), kOnnxInt64, kOnnxInt64)),
              ElementsAre(1, large - 2, -1, 3, -1));
  EXPECT_THAT(floatsOf(mapped({onnxReals("keys_floats", {kNan, 2.5f, 1}),
                               onnxReals("values_floats", {7, 8, 9}), onnxReal("default_float", 0.5f)},
                              floats({4}, {1, kNan, 2.5f, 3}), kOnnxFloat, kOnnxFloat)),
              ElementsAre(9, 7, 8, 0.5f));
  EXPECT_THAT(floatsOf(mapped({onnxReals("keys_floats", {kNan}), onnxReals("values_floats", {7})},
                              floats({2}, {1, kNan}), kOnnxFloat, kOnnxFloat)),
              ElementsAre(0, 7));
  // More keys than a step of the search.
  std::vector<std::int64_t> keys, values, wanted;
  for (std::int64_t i = 0; i < 1000; ++i) {
    keys.push_back(i * 3);
    values.push_back(i);
    wanted.push_back(i * 3 % 2 == 0 ? i * 3 : i * 3 + 1);
  }
  const auto found = longsOf(mapped({onnxInts("keys_int64s", keys), onnxInts("values_int64s", values)},
                                    longs({1000}, wanted), kOnnxInt64, kOnnxInt64));
  for (std::int64_t i = 0; i < 1000; ++i) EXPECT_EQ(found[static_cast<std::size_t>(i)], i % 2 == 0 ? i : -1);
}

TEST(Ml, LabelEncoderByTensors) {
  OnnxBuilder model(21);
  model.importDomain("ai.onnx.ml", 4).input("x", {3}, kOnnxInt64).output("y");
  model.node("LabelEncoder", {"x"}, {"y"},
             {onnxTensorAttribute("keys_tensor", onnxTensor("", {2}, std::vector<std::int64_t>{4, 2})),
              onnxTensorAttribute("values_tensor", onnxTensor("", {2}, std::vector<float>{0.5f, 1.5f})),
              onnxTensorAttribute("default_tensor", onnxTensor("", {1}, std::vector<float>{9}))},
             "culprit", "ai.onnx.ml");
  auto outputs = run(model, {longs({3}, {2, 3, 4})});
  ASSERT_TRUE(outputs) << outputs.error().message;
  EXPECT_THAT(floatsOf(outputs->at(0)), ElementsAre(1.5f, 9, 0.5f));
}

TEST(Ml, LabelEncoderRefusesStringsAndListsThatDoNotMatch) {
  const ProtoMessage keys = onnxReals("keys_floats", {1, 2});
  expectError(modelOf("LabelEncoder", {onnxTexts("keys_strings", {"a"})}), Code::kUnimplemented,
              "in the graph of the model alone");
  expectError(modelOf("LabelEncoder", {keys, onnxTexts("values_strings", {"a", "b"})}), Code::kUnimplemented,
              "'values_strings'");
  expectError(modelOf("LabelEncoder", {keys, onnxReals("values_floats", {1})}), Code::kInvalidArgument,
              "2 keys for 1 values");
  expectError(modelOf("LabelEncoder", {keys}), Code::kInvalidArgument, "gives the values");
  expectError(modelOf("LabelEncoder", {onnxInts("keys_int64s", {1}), onnxReals("values_floats", {1})}),
              Code::kInvalidArgument, "not of the input's type");
}

TEST(Ml, ZipMapIsItsTensor) {
  const ProtoMessage labels = onnxInts("classlabels_int64s", {4, 5});
  EXPECT_THAT(valuesOf("ZipMap", {labels}), ElementsAre(1, 2, 3, 4));
  EXPECT_THAT(valuesOf("ZipMap", {onnxTexts("classlabels_strings", {"a", "b"})}), ElementsAre(1, 2, 3, 4));
  expectError(modelOf("ZipMap", {}), Code::kInvalidArgument, "names the columns");
  expectError(modelOf("ZipMap", {onnxInts("classlabels_int64s", {1, 2, 3})}), Code::kInvalidArgument,
              "3 labels");
}

TEST(Ml, MapsAndStringsAreRefusedWithWhatToDo) {
  expectError(modelOf("CategoryMapper", {}), Code::kUnimplemented, "number the categories");
  expectError(modelOf("DictVectorizer", {}), Code::kUnimplemented, "a column for each key");
  expectError(modelOf("CastMap", {}), Code::kUnimplemented, "a column for each key");
}

TEST(Ml, LinearRegressorOfSeveralTargets) {
  EXPECT_THAT(valuesOf("LinearRegressor", {onnxInt("targets", 2), onnxReals("coefficients", {1, 0, 1, 10}),
                                           onnxReals("intercepts", {0.5f, 100})}),
              ElementsAre(1.5f, 121, 3.5f, 143));
  const ProtoMessage two = onnxReals("coefficients", {1, 10});
  EXPECT_THAT(valuesOf("LinearRegressor", {two}), ElementsAre(21, 43));
  expectError(modelOf("LinearRegressor", {two, onnxText("post_transform", "LOGISTIC")}), Code::kUnimplemented,
              "put the function behind the node");
  expectError(modelOf("LinearRegressor", {two, onnxText("post_transform", "CUBIC")}), Code::kInvalidArgument,
              "'CUBIC'");
  expectError(modelOf("LinearRegressor", {two, onnxInt("targets", 2)}), Code::kInvalidArgument,
              "2 coefficients");
  expectError(modelOf("LinearRegressor", {two, onnxInt("targets", INT64_MAX)}), Code::kInvalidArgument,
              "targets");
  auto open =
      importRanged(modelOf("LinearRegressor", {two}, {kOnnxFloat}, {2, "F"}).build(), {{"F", {1, 4}}});
  ASSERT_FALSE(open);
  EXPECT_THAT(open.error().message,
              HasSubstr("the number of features, the last dimension of input 0, must be known"));
}

// What ONNX Runtime 1.32 gives for these models (and here NONE alone differs from ONNX's reference).
TEST(Ml, LinearClassifierOfOneScore) {
  const HostTensor x = floats({3, 1}, {-1, 0.3f, 2});
  const Attributes one = {onnxReals("coefficients", {1}), onnxReals("intercepts", {0.1f}),
                          onnxInts("classlabels_ints", {5, 7})};
  const Answer raw = classified("LinearClassifier", one, x);
  EXPECT_THAT(raw.labels, ElementsAre(5, 7, 7));
  EXPECT_THAT(raw.scores, Pointwise(FloatNear(1e-6f), Reals{1.9f, -0.9f, 0.6f, 0.4f, -1.1f, 2.1f}));
  Attributes logistic = one;
  logistic.push_back(onnxText("post_transform", "LOGISTIC"));
  const Answer shares = classified("LinearClassifier", logistic, x);
  EXPECT_THAT(shares.labels, ElementsAre(5, 7, 7));
  EXPECT_THAT(shares.scores, Pointwise(FloatNear(1e-6f), Reals{0.71094948f, 0.28905052f, 0.40131235f,
                                                               0.59868765f, 0.10909683f, 0.89090317f}));
  Attributes softmax = one;
  softmax.push_back(onnxText("post_transform", "SOFTMAX"));
  expectError(modelOf("LinearClassifier", softmax, {kOnnxInt64, kOnnxFloat}, {3, 1}), Code::kUnimplemented,
              "a score for each class");
}

// The same.
TEST(Ml, LinearClassifierByEveryTransform) {
  const HostTensor x = floats({2, 1}, {0.25f, 0.75f});
  auto scores = [&](const char* transform) {
    return classified("LinearClassifier",
                      {onnxReals("coefficients", {1, 0.5f, 0}), onnxReals("intercepts", {0, 0.3f, 0}),
                       onnxInts("classlabels_ints", {5, 7, 9}), onnxText("post_transform", transform)},
                      x);
  };
  EXPECT_THAT(scores("NONE").labels, ElementsAre(7, 5));
  EXPECT_THAT(scores("NONE").scores, Pointwise(FloatNear(1e-6f), Reals{0.25f, 0.425f, 0, 0.75f, 0.675f, 0}));
  EXPECT_THAT(scores("LOGISTIC").scores,
              Pointwise(FloatNear(1e-6f), Reals{0.5621765f, 0.6046790f, 0.5f, 0.6791787f, 0.6626211f, 0.5f}));
  EXPECT_THAT(scores("SOFTMAX").scores, Pointwise(FloatNear(1e-6f), {0.3366950f, 0.4010867f, 0.2622184f,
                                                                     0.4166476f, 0.3865421f, 0.1968104f}));
  EXPECT_THAT(scores("SOFTMAX_ZERO").scores,
              Pointwise(FloatNear(1e-6f), Reals{0.4563613f, 0.5436387f, 0, 0.5187413f, 0.4812588f, 0}));
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  EXPECT_THAT(scores("PROBIT").scores,
              Pointwise(testing::NanSensitiveFloatNear(1e-5f),
                        Reals{-0.6745743f, -0.1891206f, -kInfinity, 0.6745743f, 0.4537928f, -kInfinity}));
}

TEST(Ml, LabelsThatAreStringsAreRefusedWhereTheyAreAskedFor) {
  const Attributes named = {onnxReals("coefficients", {1, 2, 3, 4}),
                            onnxTexts("classlabels_strings", {"cat", "dog"})};
  expectError(modelOf("LinearClassifier", named, {kOnnxString, kOnnxFloat}), Code::kUnimplemented,
              "in the graph of the model alone");
  OnnxBuilder scores(18);
  scores.importDomain("ai.onnx.ml", 1).input("x", {2, 2}).output("y");
  scores.node("LinearClassifier", {"x"}, {"", "y"}, named, "culprit", "ai.onnx.ml");
  auto outputs = run(scores, {floats({2, 2}, {1, 0, 0, 1})});
  ASSERT_TRUE(outputs) << outputs.error().message;
  EXPECT_THAT(floatsOf(outputs->at(0)), ElementsAre(1, 3, 2, 4));
  expectError(
      modelOf("LinearClassifier", {onnxReals("coefficients", {1, 2}), onnxInts("classlabels_ints", {1})},
              {kOnnxInt64, kOnnxFloat}),
      Code::kUnimplemented, "fewer than two");
}

TEST(Ml, SvmRegressorByEveryKernel) {
  auto regressed = [](const char* kernel) {
    return valuesOf("SVMRegressor",
                    {onnxText("kernel_type", kernel), onnxReals("kernel_params", {0.5f, 1, 3}),
                     onnxInt("n_supports", 2), onnxReals("support_vectors", {1, 0, 0, 1}),
                     onnxReals("coefficients", {2, -1}), onnxReals("rho", {0.25f})},
                    floats({2, 2}, {1, 2, 3, 0}));
  };
  EXPECT_THAT(regressed("LINEAR"), ElementsAre(0.25f, 6.25f));
  EXPECT_THAT(regressed("POLY"),
              Pointwise(FloatNear(1e-4f), Reals{2 * 3.375f - 8 + 0.25f, 2 * 15.625f - 1 + 0.25f}));
  EXPECT_THAT(regressed("RBF"),
              Pointwise(FloatNear(1e-5f), Reals{2 * std::exp(-2.f) - std::exp(-1.f) + 0.25f,
                                                2 * std::exp(-2.f) - std::exp(-5.f) + 0.25f}));
  EXPECT_THAT(regressed("SIGMOID"),
              Pointwise(FloatNear(1e-5f), Reals{2 * std::tanh(1.5f) - std::tanh(2.f) + 0.25f,
                                                2 * std::tanh(2.5f) - std::tanh(1.f) + 0.25f}));
  EXPECT_THAT(valuesOf("SVMRegressor",
                       {onnxReals("coefficients", {1, 1}), onnxReals("rho", {-4}), onnxInt("one_class", 1)}),
              ElementsAre(-1, 1));
}

TEST(Ml, SvmsWithListsThatDoNotMatch) {
  const ProtoMessage rho = onnxReals("rho", {0}), coefficients = onnxReals("coefficients", {1, 1});
  expectError(modelOf("SVMRegressor", {coefficients}), Code::kInvalidArgument, "'rho'");
  expectError(modelOf("SVMRegressor", {rho, coefficients, onnxInt("n_supports", 3)}), Code::kInvalidArgument,
              "3 are wanted");
  expectError(modelOf("SVMRegressor", {rho, coefficients, onnxInt("n_supports", 2)}), Code::kInvalidArgument,
              "'support_vectors' has 0 numbers");
  expectError(modelOf("SVMRegressor", {rho, coefficients, onnxInt("n_supports", -1)}), Code::kInvalidArgument,
              "coefficients");
  expectError(modelOf("SVMRegressor", {rho, coefficients, onnxText("kernel_type", "RBF")}),
              Code::kInvalidArgument, "kernel_params");
  expectError(modelOf("SVMRegressor", {rho, coefficients, onnxText("kernel_type", "CUBE")}),
              Code::kInvalidArgument, "'CUBE'");
  const std::vector<int> both = {kOnnxInt64, kOnnxFloat};
  const Attributes machine = {rho, onnxReals("support_vectors", {1, 0, 0, 1}),
                              onnxInts("classlabels_ints", {0, 1})};
  auto with = [&](const Attributes& more) {
    Attributes all = machine;
    all.insert(all.end(), more.begin(), more.end());
    return modelOf("SVMClassifier", all, both);
  };
  expectError(with({coefficients, onnxInts("vectors_per_class", {2})}), Code::kInvalidArgument,
              "1 entries for 2 classes");
  expectError(with({coefficients, onnxInts("vectors_per_class", {1, INT64_MAX})}), Code::kInvalidArgument,
              "absurd");
  expectError(with({onnxReals("coefficients", {1}), onnxInts("vectors_per_class", {1, 1})}),
              Code::kInvalidArgument, "2 are wanted");
  expectError(with({coefficients, onnxInts("vectors_per_class", {1, 1}), onnxReals("prob_a", {1})}),
              Code::kInvalidArgument, "differ");
  expectError(with({coefficients, onnxInts("vectors_per_class", {1, 1}), onnxReals("prob_a", {1, 2}),
                    onnxReals("prob_b", {1, 2})}),
              Code::kInvalidArgument, "'prob_a' has 2 values for 1 pairs");
}

}  // namespace
}  // namespace kiln
