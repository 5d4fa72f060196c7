// Operators of com.microsoft: what they make by hand-made numbers, and what is refused by name. Their answers
// are compared with ONNX Runtime's in tests/conformance/contrib.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/compiler_core/frontend/run_model.h"

namespace kiln {
namespace {

using testing::ElementsAre;
using testing::FloatNear;
using testing::HasSubstr;
using testing::Pointwise;
using namespace testing_support;

using Bytes8 = std::vector<std::uint8_t>;
using Attributes = std::vector<ProtoMessage>;

HostTensor bytes(std::vector<std::int64_t> shape, const Bytes8& values) {
  return HostTensor::of(DType::kU8, std::move(shape), values);
}
HostTensor ints(std::vector<std::int64_t> shape, const std::vector<std::int32_t>& values) {
  return HostTensor::of(DType::kI32, std::move(shape), values);
}

// An input: a tensor, or its type and dimensions where nothing is run.
struct In {
  std::vector<OnnxDim> dims;
  int type = kOnnxFloat;
  std::optional<HostTensor> value = std::nullopt;
};
const In kNone{{}, 0};

In given(const HostTensor& value) {
  static const std::map<DType, int> kTypes = {{DType::kF32, kOnnxFloat},
                                              {DType::kU8, kOnnxUint8},
                                              {DType::kI32, kOnnxInt32},
                                              {DType::kI64, kOnnxInt64}};
  return {{value.shape.begin(), value.shape.end()}, kTypes.at(value.dtype), value};
}

// One node 'culprit' of the domain; kNone stands for an absent input, "" for an output that is not wanted.
OnnxBuilder model(const std::string& op, const std::vector<In>& inputs, const Attributes& attributes,
                  const std::vector<std::pair<std::string, int>>& outputs = {{"y", kOnnxFloat}},
                  const std::string& domain = "com.microsoft") {
  OnnxBuilder made(17);
  made.importDomain("com.microsoft", 1);
  std::vector<std::string> names, results;
  for (const In& input : inputs) {
    names.push_back(input.type ? "x" + std::to_string(names.size()) : "");
    if (input.type) made.input(names.back(), input.dims, input.type);
  }
  for (const auto& [name, type] : outputs) {
    results.push_back(name);
    if (!name.empty()) made.output(name, type);
  }
  return made.node(op, names, results, attributes, "culprit", domain);
}

std::vector<HostTensor> outputs(const OnnxBuilder& built, const std::vector<In>& inputs, std::size_t count) {
  std::vector<HostTensor> values;
  for (const In& input : inputs)
    if (input.value) values.push_back(*input.value);
  auto result = run(built, values);
  EXPECT_TRUE(result) << (result ? "" : result.error().message);
  return result ? *result : std::vector<HostTensor>(count);
}

std::vector<float> floatsFrom(const std::string& op, const std::vector<In>& inputs,
                              const Attributes& attributes = {}) {
  return floatsOf(outputs(model(op, inputs, attributes), inputs, 1)[0]);
}

std::string errorOf(const std::string& op, const std::vector<In>& inputs, const Attributes& attributes = {},
                    const std::vector<std::pair<std::string, int>>& results = {{"y", kOnnxFloat}}) {
  auto made = import(model(op, inputs, attributes, results).build());
  if (made) return "imported";
  EXPECT_THAT(made.error().message, HasSubstr("culprit"));
  return made.error().message;
}

auto near(const std::vector<float>& values) {
  return Pointwise(FloatNear(1e-5f), values);
}

TEST(Contrib, Activations) {
  const In x = given(floats({1, 2}, {1, -1})), bias = given(floats({2}, {1, 1}));
  EXPECT_THAT(floatsFrom("Gelu", {x}), near({0.8413447f, -0.1586553f}));
  EXPECT_THAT(floatsFrom("BiasGelu", {x, bias}), near({1.9544997f, 0}));
  EXPECT_THAT(floatsFrom("FastGelu", {x}), near({0.8411920f, -0.1588080f}));
  EXPECT_THAT(floatsFrom("FastGelu", {x, bias}), near({1.9545977f, 0}));
  EXPECT_THAT(floatsFrom("QuickGelu", {x}), near({0.8457958f, -0.1542042f}));
  EXPECT_THAT(floatsFrom("BiasSoftmax", {x, given(floats({1, 2}, {-2, 0}))}, {onnxInt("axis", 1)}),
              near({0.5f, 0.5f}));
  EXPECT_THAT(errorOf("BiasGelu", {{{2, 3}}}), HasSubstr("input 1 is missing"));
  EXPECT_THAT(errorOf("BiasGelu", {{{2, 3}}, {{2, 3}}}), HasSubstr("the bias is no vector"));
}

TEST(Contrib, Normalisations) {
  const In x = given(floats({1, 1, 2}, {1, 2})), skip = given(floats({1, 2}, {1, 4})),
           gamma = given(floats({2}, {1, 2}));
  const std::vector<std::pair<std::string, int>> withSum = {
      {"y", kOnnxFloat}, {"", 0}, {"", 0}, {"sum", kOnnxFloat}};
  const std::vector<In> layer{x, skip, gamma, given(floats({2}, {0, 1}))};
  auto results = outputs(model("SkipLayerNormalization", layer, {}, withSum), layer, 2);
  EXPECT_THAT(floatsOf(results[0]), near({-1, 3}));
  EXPECT_THAT(floatsOf(results[1]), near({2, 6}));
  const std::vector<In> rms{x, given(floats({1, 1, 2}, {2, 2})), gamma};
  results = outputs(model("SkipSimplifiedLayerNormalization", rms, {}, withSum), rms, 2);
  EXPECT_THAT(floatsOf(results[0]), near({0.8485281f, 2.2627417f}));
  EXPECT_THAT(floatsOf(results[1]), near({3, 4}));
  // ONNX Runtime's tools write it in ONNX's own domain.
  const std::vector<In> alone{given(floats({1, 2}, {3, 4})), gamma};
  EXPECT_THAT(floatsOf(outputs(model("SimplifiedLayerNormalization", alone, {}, {{"y", kOnnxFloat}}, ""),
                               alone, 1)[0]),
              near({0.8485281f, 2.2627417f}));
  EXPECT_THAT(errorOf("SkipLayerNormalization", {{{2, 3, 4}}, {{2, 3, 4}}, {{4}}}, {},
                      {{"y", kOnnxFloat}, {"mean", kOnnxFloat}}),
              HasSubstr("output 1 'mean' is not served"));
  EXPECT_THAT(errorOf("SkipLayerNormalization", {{{1, 3, 4}}, {{2, 3, 4}}, {{4}}}),
              HasSubstr("does not fit"));
}

TEST(Contrib, EmbeddingsCountTheirWords) {
  const std::vector<In> inputs{given(ints({1, 2}, {1, 0})),         given(ints({1, 2}, {0, 1})),
                               given(floats({2, 2}, {0, 1, 2, 5})), given(floats({3, 2}, {0, 0, 0, 4, 9, 9})),
                               given(floats({2, 2}, {0, 0, 1, 1})), given(floats({2}, {1, 1})),
                               given(floats({2}, {0, 0})),          given(ints({1, 2}, {1, 0}))};
  const std::vector<std::pair<std::string, int>> wanted = {
      {"y", kOnnxFloat}, {"words", kOnnxInt32}, {"sum", kOnnxFloat}};
  auto results = outputs(model("EmbedLayerNormalization", inputs, {}, wanted), inputs, 3);
  EXPECT_THAT(floatsOf(results[0]), near({-1, 1, -1, 1}));
  EXPECT_EQ(*results[1].data<std::int32_t>(), 1);
  EXPECT_THAT(floatsOf(results[2]), near({2, 5, 1, 6}));
  // More positions than the table has.
  std::vector<In> longer(inputs);
  longer[0] = longer[1] = longer[7] = {{1, 4}, kOnnxInt32};
  EXPECT_THAT(errorOf("EmbedLayerNormalization", longer, {}, wanted), HasSubstr("index 3 is outside"));
}

TEST(Contrib, Products) {
  const In a = given(floats({1, 2}, {1, 2})), b = given(floats({1, 2}, {3, 4}));
  EXPECT_THAT(floatsFrom("FusedMatMul", {a, b}, {onnxInt("transB", 1), onnxReal("alpha", 0.5f)}),
              near({5.5f}));
  // The rows of A stand first: [rows, batch, depth].
  const In rows = given(floats({2, 1, 2}, {1, 2, 3, 4})), column = given(floats({1, 2, 1}, {1, 1}));
  EXPECT_THAT(floatsFrom("FusedMatMul", {rows, column}, {onnxInt("transBatchA", 1)}), near({3, 7}));
  EXPECT_THAT(floatsFrom("FusedGemm", {a, b},
                         {onnxInt("transB", 1), onnxReal("alpha", -1), onnxText("activation", "LeakyRelu"),
                          onnxReal("activation_alpha", 0.5f)}),
              near({-5.5f}));
  EXPECT_THAT(errorOf("FusedGemm", {{{2, 3}}, {{3, 4}}}, {onnxText("activation", "Mystery")}),
              HasSubstr("activation 'Mystery' is not served"));
}

TEST(Contrib, WeightsOfFourBits) {
  // Codes 8 and 9 in turn, of which the zero point 8 leaves 0 and 1.
  const std::vector<In> inputs{given(floats({1, 16}, std::vector<float>(16, 1))),
                               given(bytes({1, 1, 8}, Bytes8(8, 0x98))), given(floats({1}, {2}))};
  const auto sized = [](std::int64_t bits, std::int64_t block = 16) {
    return Attributes{onnxInt("K", 16), onnxInt("N", 1), onnxInt("bits", bits), onnxInt("block_size", block)};
  };
  EXPECT_THAT(floatsFrom("MatMulNBits", inputs, sized(4)), near({16}));
  std::vector<In> zeros(inputs);
  zeros.push_back(given(bytes({1, 1}, {0xF7})));  // of one block, the other half is filling
  EXPECT_THAT(floatsFrom("MatMulNBits", zeros, sized(4)), near({48}));
  std::vector<In> ordered(inputs);
  ordered.insert(ordered.end(), {kNone, {{16}, kOnnxInt32}});
  EXPECT_THAT(errorOf("MatMulNBits", ordered, sized(4)), HasSubstr("input 4 'g_idx' is not served"));
  EXPECT_THAT(errorOf("MatMulNBits", inputs, sized(3)), HasSubstr("weights of 3 bits are not served"));
  EXPECT_THAT(errorOf("MatMulNBits", inputs, sized(4, 24)), HasSubstr("block_size is 24"));
  EXPECT_THAT(errorOf("MatMulNBits", inputs, sized(8)), HasSubstr("has 8 elements instead of 16"));
  Attributes prepacked = sized(4);
  prepacked.push_back(onnxInt("weight_prepacked", 1));
  EXPECT_THAT(errorOf("MatMulNBits", inputs, prepacked), HasSubstr("'weight_prepacked' of 1 is not served"));
}

TEST(Contrib, RotationByPosition) {
  // A quarter turn at position 1, none at position 0.
  const In x = given(floats({1, 2, 2}, {1, 2, 3, 4})), cosine = given(floats({2, 1}, {1, 0})),
           sine = given(floats({2, 1}, {0, 1}));
  const In first = given(longs({1}, {0})), swapped = given(longs({1, 2}, {1, 0}));
  EXPECT_THAT(floatsFrom("RotaryEmbedding", {x, first, cosine, sine}), near({1, 2, -4, 3}));
  EXPECT_THAT(floatsFrom("RotaryEmbedding", {x, swapped, cosine, sine}), near({-2, 1, 3, 4}));
  EXPECT_THAT(errorOf("RotaryEmbedding", {x, first, cosine, sine}, {onnxInt("is_packed_batching", 1)}),
              HasSubstr("'is_packed_batching' of 1 is not served"));
  EXPECT_THAT(errorOf("RotaryEmbedding", {x, first, cosine, sine}, {onnxReal("scale", 2)}),
              HasSubstr("'scale' other than 1"));
  EXPECT_THAT(errorOf("RotaryEmbedding", {x, {{3}, kOnnxInt64}, cosine, sine}),
              HasSubstr("position_ids have shape 3"));
}

// Queries and keys of zeros: every key that takes part counts the same.
TEST(Contrib, AttentionTakesTheKeysOfItsMask) {
  const In zeros = given(floats({1, 2, 1}, {0, 0})), values = given(floats({1, 2, 1}, {2, 6}));
  const Attributes heads{onnxInt("num_heads", 1)};
  EXPECT_THAT(floatsFrom("MultiHeadAttention", {zeros, zeros, values}, heads), near({4, 4}));
  Attributes causal(heads);
  causal.push_back(onnxInt("unidirectional", 1));
  EXPECT_THAT(floatsFrom("MultiHeadAttention", {zeros, zeros, values}, causal), near({2, 4}));
  const In lengths = given(ints({1}, {1})), padding = given(ints({1, 2}, {0, 1}));
  EXPECT_THAT(floatsFrom("MultiHeadAttention", {zeros, zeros, values, kNone, lengths}, heads), near({2, 2}));
  EXPECT_THAT(floatsFrom("MultiHeadAttention", {zeros, zeros, values, kNone, padding}, heads), near({6, 6}));
  // Query and key are projected to 0, the value to the input.
  const In weights = given(floats({1, 3}, {0, 0, 1}));
  EXPECT_THAT(floatsFrom("Attention", {values, weights, kNone, given(ints({2}, {2, 1}))}, heads),
              near({6, 6}));
}

TEST(Contrib, WhatOfAttentionIsRefused) {
  const Attributes heads{onnxInt("num_heads", 2)};
  const In x{{1, 3, 8}}, weights{{8, 24}}, bias{{24}};
  const auto with = [](Attributes attributes, const ProtoMessage& more) {
    attributes.push_back(more);
    return attributes;
  };
  EXPECT_THAT(errorOf("Attention", {x, weights, bias}), HasSubstr("attribute 'num_heads' is 0"));
  EXPECT_THAT(errorOf("Attention", {x, weights, bias}, {onnxInt("num_heads", 3)}), HasSubstr("divide"));
  EXPECT_THAT(errorOf("Attention", {x, weights, bias}, with(heads, onnxInt("do_rotary", 1))),
              HasSubstr("'do_rotary' of 1 is not served"));
  EXPECT_THAT(errorOf("Attention", {x, weights, bias, {{1, 1, 3, 3}, kOnnxInt32}}, heads),
              HasSubstr("a mask of shape 1x1x3x3 is not served"));
  EXPECT_THAT(errorOf("Attention", {x, weights, bias, {{1, 4}, kOnnxInt32}}, heads),
              HasSubstr("the mask has shape 1x4 instead of 1x3"));
  EXPECT_THAT(errorOf("Attention", {x, weights, bias, kNone, {{1, 2, 3, 4}}}, heads),
              HasSubstr("past is not"));
  std::vector<In> shared{x, x, x, kNone, kNone, kNone, {{1, 2, 3, 4}}, {{1, 2, 3, 4}}, {{1}, kOnnxInt32}};
  EXPECT_THAT(errorOf("MultiHeadAttention", shared, heads),
              HasSubstr("input 8 'past_sequence_length' is not served"));
  shared.resize(7);
  EXPECT_THAT(errorOf("MultiHeadAttention", shared, heads), HasSubstr("come together"));
  EXPECT_THAT(errorOf("MultiHeadAttention", {x, x, x}, heads,
                      {{"y", kOnnxFloat}, {"", 0}, {"", 0}, {"qk", kOnnxFloat}}),
              HasSubstr("output 3 'qk' is not served"));
}

// One head of one number: the cache is written where the sample's keys end, as a buffer and growing.
TEST(Contrib, GroupedQueriesWriteTheirCache) {
  const In zero = given(floats({1, 1, 1}, {0})), value = given(floats({1, 1, 1}, {9}));
  const In pastKey = given(floats({1, 1, 4, 1}, {0, 0, 0, 0})),
           past = given(floats({1, 1, 4, 1}, {3, 6, 7, 8}));
  const Attributes heads{onnxInt("num_heads", 1), onnxInt("kv_num_heads", 1)};
  const std::vector<std::pair<std::string, int>> wanted = {
      {"y", kOnnxFloat}, {"key", kOnnxFloat}, {"value", kOnnxFloat}};
  const std::vector<In> buffer{zero, zero, value, pastKey, past, given(ints({1}, {2})), given(ints({}, {3}))};
  auto results = outputs(model("GroupQueryAttention", buffer, heads, wanted), buffer, 3);
  EXPECT_THAT(floatsOf(results[0]), near({6}));
  EXPECT_THAT(floatsOf(results[2]), near({3, 6, 9, 8}));
  // The total is known, and one more than the past is long.
  OnnxBuilder growing(17);
  growing.importDomain("com.microsoft", 1);
  for (const char* name : {"q", "k", "v"}) growing.input(name, {1, 1, 1});
  growing.input("pk", {1, 1, 4, 1}).input("pv", {1, 1, 4, 1}).input("n", {1}, kOnnxInt32);
  growing.initializer(onnxTensor("all", {}, std::vector<std::int64_t>{5}));
  growing.node("Cast", {"all"}, {"total"}, {onnxInt("to", kOnnxInt32)});
  growing.output("y").output("key").output("value");
  growing.node("GroupQueryAttention", {"q", "k", "v", "pk", "pv", "n", "total"}, {"y", "key", "value"}, heads,
               "", "com.microsoft");
  const std::vector<In> all{zero, zero, value, pastKey, past, given(ints({1}, {4}))};
  results = outputs(growing, all, 3);
  EXPECT_THAT(results[2].shape, ElementsAre(1, 1, 5, 1));
  EXPECT_THAT(floatsOf(results[2]), near({3, 6, 7, 8, 9}));
  EXPECT_THAT(floatsOf(results[0]), near({6.6f}));
}

TEST(Contrib, WhatOfGroupedQueriesIsRefused) {
  const In x{{1, 1, 8}}, length{{1}, kOnnxInt32}, total{{}, kOnnxInt32}, half{{4}};
  const std::vector<In> inputs{x, x, x, kNone, kNone, length, total};
  const auto refused = [&](const ProtoMessage& more) {
    return errorOf("GroupQueryAttention", inputs,
                   {onnxInt("num_heads", 1), onnxInt("kv_num_heads", 1), more});
  };
  EXPECT_THAT(refused(onnxInt("smooth_softmax", 1)), HasSubstr("'smooth_softmax' is not served"));
  EXPECT_THAT(refused(onnxInt("causal", 0)), HasSubstr("'causal' of 0 is not served"));
  EXPECT_THAT(refused(onnxInt("sliding_window_cache", 1)), HasSubstr("'sliding_window_cache' of 1"));
  EXPECT_THAT(refused(onnxInt("qk_output", 2)), HasSubstr("'qk_output' of 2 is not served"));
  EXPECT_THAT(refused(onnxText("k_quant_type", "PER_TENSOR")), HasSubstr("'k_quant_type' of PER_TENSOR"));
  EXPECT_THAT(refused(onnxInt("do_rotary", 1)), HasSubstr("input 7 is missing"));
  EXPECT_THAT(refused(onnxInt("surprise", 1)), HasSubstr("attribute 'surprise' is not served"));
  std::vector<In> sunk(inputs);
  sunk.insert(sunk.end(), {kNone, kNone, kNone, kNone, half});
  EXPECT_THAT(errorOf("GroupQueryAttention", sunk, {onnxInt("num_heads", 1), onnxInt("kv_num_heads", 1)}),
              HasSubstr("input 11 'head_sink' is not served"));
  EXPECT_THAT(errorOf("GroupQueryAttention", inputs, {onnxInt("num_heads", 2), onnxInt("kv_num_heads", 1)}),
              HasSubstr("query, key and value do not fit"));
}

TEST(Contrib, QuantisedArithmetic) {
  const In a = given(bytes({1, 2}, {10, 250})), b = given(bytes({1, 2}, {20, 250})),
           half = given(floats({}, {0.5f})), one = given(floats({}, {1})), ten = given(bytes({}, {10}));
  const auto codes = [](const std::string& op, const std::vector<In>& inputs,
                        const Attributes& attributes = {}) {
    const HostTensor y = outputs(model(op, inputs, attributes, {{"y", kOnnxUint8}}), inputs, 1)[0];
    return Bytes8(y.data<std::uint8_t>(), y.data<std::uint8_t>() + y.elements());
  };
  EXPECT_THAT(codes("QLinearAdd", {a, half, ten, b, one, ten, one, ten}), ElementsAre(20, 255));
  EXPECT_THAT(codes("QLinearMul", {a, half, kNone, b, one, ten, one}), ElementsAre(50, 255));
  EXPECT_THAT(codes("QLinearSigmoid", {a, one, ten, given(floats({}, {1.0f / 256})), kNone}),
              ElementsAre(128, 255));
  EXPECT_THAT(codes("QLinearConcat", {half, ten, a, one, ten, b, half, ten}, {onnxInt("axis", 1)}),
              ElementsAre(10, 255, 20, 250));
  EXPECT_THAT(errorOf("QLinearConcat", {half, ten, a, one}, {onnxInt("axis", 1)}, {{"y", kOnnxUint8}}),
              HasSubstr("three for each part"));
  const In w = given(bytes({2, 1}, {1, 2}));
  EXPECT_THAT(floatsFrom("MatMulIntegerToFloat", {a, w, half, one, ten}), near({240}));
  EXPECT_THAT(floatsFrom("QGemm", {a, half, ten, w, one, given(bytes({}, {1})), given(ints({1}, {4}))}),
              near({122}));
}

TEST(Contrib, OthersOfTheDomainAreNamed) {
  EXPECT_THAT(errorOf("PackedAttention", {{{2, 3}}}), HasSubstr("this operator is not served yet"));
}

}  // namespace
}  // namespace kiln
