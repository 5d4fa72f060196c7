// Single operators, by value; and what is refused, with which words.
#include "compiler_core/frontend/onnx/import/import.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "compiler_core/frontend/onnx/operators/operators.h"
#include "manifest/base/digest.h"
#include "tests/compiler_core/frontend/run_model.h"

namespace kiln {
namespace {

using testing::ElementsAre;
using testing::FloatNear;
using testing::HasSubstr;
using testing::Pointwise;
using namespace testing_support;

// The first output of a model on one input.
std::vector<float> result(const OnnxBuilder& builder, const std::vector<HostTensor>& inputs,
                          std::vector<std::int64_t>* shape = nullptr) {
  auto outputs = run(builder, inputs);
  EXPECT_TRUE(outputs) << (outputs ? "" : outputs.error().message);
  if (!outputs) return {};
  if (shape) *shape = outputs->at(0).shape;
  return floatsOf(outputs->at(0));
}

Error errorOf(const OnnxBuilder& builder, const analysis::DimValues& dims = {}) {
  auto model = import(builder.build(), dims);
  return model ? Error{Code::kUnknown, "imported"} : model.error();
}

TEST(Import, BroadcastingAddOfOldAndNewVersions) {
  for (std::int64_t opset : {6, 7, 13, 27}) {
    OnnxBuilder model(opset);
    std::vector<ProtoMessage> attributes;
    if (opset < 7) attributes = {onnxInt("broadcast", 1), onnxInt("axis", 1)};
    std::vector<std::int64_t> dims =
        opset < 7 ? std::vector<std::int64_t>{2} : std::vector<std::int64_t>{2, 1};
    model.input("x", {1, 2, 2})
        .output("y")
        .initializer(onnxTensor("b", dims, std::vector<float>{10, 20}))
        .node("Add", {"x", "b"}, {"y"}, attributes);
    EXPECT_THAT(result(model, {floats({1, 2, 2}, {1, 2, 3, 4})}), ElementsAre(11, 12, 23, 24)) << opset;
  }
}

TEST(Import, ConvolutionWithAutomaticPadding) {
  // A 2x2 window of ones over 3x3: SAME_UPPER pads bottom and right, SAME_LOWER top and left.
  for (auto [mode, expected] : std::vector<std::pair<std::string, std::vector<float>>>{
           {"SAME_UPPER", {12, 16, 9, 24, 28, 15, 15, 17, 9}},
           {"SAME_LOWER", {1, 3, 5, 5, 12, 16, 11, 24, 28}},
           {"VALID", {12, 16, 24, 28}}}) {
    OnnxBuilder model(8);
    model.input("x", {1, 1, 3, 3})
        .output("y")
        .initializer(onnxTensor("w", {1, 1, 2, 2}, std::vector<float>{1, 1, 1, 1}))
        .node("Conv", {"x", "w"}, {"y"}, {onnxText("auto_pad", mode), onnxInts("kernel_shape", {2, 2})});
    EXPECT_EQ(result(model, {floats({1, 1, 3, 3}, {1, 2, 3, 4, 5, 6, 7, 8, 9})}), expected) << mode;
  }
}

TEST(Import, GroupedStridedConvolutionWithBias) {
  OnnxBuilder model;
  model.input("x", {1, 2, 3})
      .output("y")
      .initializer(onnxTensor("w", {2, 1, 2}, std::vector<float>{1, 2, 3, 4}))
      .initializer(onnxTensor("b", {2}, std::vector<float>{100, 200}))
      .node("Conv", {"x", "w", "b"}, {"y"},
            {onnxInt("group", 2), onnxInts("strides", {2}), onnxInts("pads", {1, 0})});
  std::vector<std::int64_t> shape;
  // Channel 0: [0,1]·[1,2] and [2,3]·[1,2]; channel 1: [0,4]·[3,4] and [5,6]·[3,4].
  EXPECT_THAT(result(model, {floats({1, 2, 3}, {1, 2, 3, 4, 5, 6})}, &shape),
              ElementsAre(102, 108, 216, 239));
  EXPECT_THAT(shape, ElementsAre(1, 2, 2));
}

TEST(Import, Pooling) {
  auto pooled = [](std::string op, std::vector<ProtoMessage> attributes) {
    attributes.push_back(onnxInts("kernel_shape", {2, 2}));
    OnnxBuilder model(11);
    model.input("x", {1, 1, 3, 3}).output("y").node(op, {"x"}, {"y"}, attributes);
    return result(model, {floats({1, 1, 3, 3}, {1, 2, 3, 4, 5, 6, 7, 8, 9})});
  };
  auto strides = onnxInts("strides", {2, 2});
  EXPECT_THAT(pooled("MaxPool", {strides}), ElementsAre(5));
  EXPECT_THAT(pooled("MaxPool", {strides, onnxInt("ceil_mode", 1)}), ElementsAre(5, 6, 8, 9));
  EXPECT_THAT(pooled("AveragePool", {strides}), ElementsAre(3));
  EXPECT_THAT(pooled("AveragePool", {strides, onnxInts("pads", {1, 1, 0, 0})}), ElementsAre(1, 2.5, 5.5, 7));
  EXPECT_THAT(
      pooled("AveragePool", {strides, onnxInts("pads", {1, 1, 0, 0}), onnxInt("count_include_pad", 1)}),
      ElementsAre(0.25, 1.25, 2.75, 7));
}

TEST(Import, GemmTransposesScalesAndBroadcasts) {
  OnnxBuilder model;
  model.input("a", {2, 2})
      .output("y")
      .initializer(onnxTensor("b", {3, 2}, std::vector<float>{1, 0, 0, 1, 1, 1}))
      .initializer(onnxTensor("c", {3}, std::vector<float>{10, 20, 30}))
      .node("Gemm", {"a", "b", "c"}, {"y"},
            {onnxInt("transA", 1), onnxInt("transB", 1), onnxReal("alpha", 2), onnxReal("beta", 0.5f)});
  EXPECT_THAT(result(model, {floats({2, 2}, {1, 2, 3, 4})}), ElementsAre(7, 16, 23, 9, 18, 27));
}

TEST(Import, MatMulBroadcastsBatches) {
  OnnxBuilder model;
  model.input("a", {2, 1, 2}).input("b", {2}).output("y").node("MatMul", {"a", "b"}, {"y"});
  std::vector<std::int64_t> shape;
  EXPECT_THAT(result(model, {floats({2, 1, 2}, {1, 2, 3, 4}), floats({2}, {10, 1})}, &shape),
              ElementsAre(12, 34));
  EXPECT_THAT(shape, ElementsAre(2, 1));
}

TEST(Import, SoftmaxBeforeAndAfterVersion13) {
  // Before, everything from the axis on is one row.
  for (auto [opset, expected] : std::vector<std::pair<int, float>>{{12, 0.25f}, {13, 0.5f}}) {
    OnnxBuilder model(opset);
    model.input("x", {1, 2, 2}).output("y").node("Softmax", {"x"}, {"y"});
    EXPECT_THAT(result(model, {floats({1, 2, 2}, {5, 5, 5, 5})}),
                Pointwise(FloatNear(1e-6f), std::vector<float>(4, expected)));
  }
}

TEST(Import, ShapeComputationsFoldAway) {
  // x of [2,3,4] -> Shape -> Gather 0 -> Unsqueeze -> Concat with -1 -> Reshape.
  OnnxBuilder model(13);
  model.input("x", {2, 3, 4})
      .output("y")
      .initializer(onnxTensor("zero", {}, std::vector<std::int64_t>{0}))
      .initializer(onnxTensor("axes", {1}, std::vector<std::int64_t>{0}))
      .initializer(onnxTensor("rest", {1}, std::vector<std::int64_t>{-1}))
      .node("Shape", {"x"}, {"s"})
      .node("Gather", {"s", "zero"}, {"n"})
      .node("Unsqueeze", {"n", "axes"}, {"u"})
      .node("Concat", {"u", "rest"}, {"t"}, {onnxInt("axis", 0)})
      .node("Reshape", {"x", "t"}, {"y"}, {}, "flat");
  auto imported = import(model.build());
  ASSERT_TRUE(imported) << imported.error().message;
  EXPECT_EQ((*imported)->captured.outputs[0].shape, (std::vector<std::int64_t>{2, 12}));
  EXPECT_EQ((*imported)->captured.analyse.foldedNodes, 4);
  EXPECT_EQ((*imported)->captured.analyse.shapes.at("flat"), "f32[2,12]");
}

TEST(Import, SliceFollowsPython) {
  auto sliced = [](std::int64_t start, std::int64_t end, std::int64_t step) {
    OnnxBuilder model;
    auto one = [](std::string_view name, std::int64_t value) {
      return onnxTensor(name, {1}, std::vector<std::int64_t>{value});
    };
    model.input("x", {5})
        .output("y")
        .initializer(one("s", start))
        .initializer(one("e", end))
        .initializer(one("a", 0))
        .initializer(one("t", step))
        .node("Slice", {"x", "s", "e", "a", "t"}, {"y"});
    return result(model, {floats({5}, {0, 1, 2, 3, 4})});
  };
  EXPECT_THAT(sliced(1, 4, 1), ElementsAre(1, 2, 3));
  EXPECT_THAT(sliced(-2, INT64_MAX, 1), ElementsAre(3, 4));
  EXPECT_THAT(sliced(4, INT64_MIN, -2), ElementsAre(4, 2, 0));
  EXPECT_THAT(sliced(-1, -4, -1), ElementsAre(4, 3, 2));
  EXPECT_THAT(sliced(0, 100, 3), ElementsAre(0, 3));
  EXPECT_THAT(sliced(INT64_MIN, 1, 1), ElementsAre(0));
  EXPECT_THAT(sliced(4, INT64_MIN, INT64_MIN), ElementsAre(4));
}

TEST(Import, BatchNormalization) {
  OnnxBuilder model(9);
  auto two = [](std::string_view name, float a, float b) {
    return onnxTensor(name, {2}, std::vector<float>{a, b});
  };
  model.input("x", {1, 2, 1, 1})
      .output("y")
      .initializer(two("s", 2, 4))
      .initializer(two("b", 9, -10))
      .initializer(two("m", 0.5f, -2))
      .initializer(two("v", 3, 0))
      .node("BatchNormalization", {"x", "s", "b", "m", "v"}, {"y"}, {onnxReal("epsilon", 1)});
  EXPECT_THAT(result(model, {floats({1, 2, 1, 1}, {1, 1})}), ElementsAre(9.5f, 2));
}

TEST(Import, Activations) {
  auto at = [](std::string op, std::vector<ProtoMessage> attributes = {}) {
    OnnxBuilder model(20);
    model.input("x", {3}).output("y").node(op, {"x"}, {"y"}, attributes);
    return result(model, {floats({3}, {-2, 0, 2})});
  };
  auto near = [](std::vector<float> values) { return Pointwise(FloatNear(2e-6f), values); };
  EXPECT_THAT(at("Relu"), ElementsAre(0, 0, 2));
  EXPECT_THAT(at("LeakyRelu", {onnxReal("alpha", 0.1f)}), near({-0.2f, 0, 2}));
  EXPECT_THAT(at("Sigmoid"), near({0.1192029f, 0.5f, 0.8807971f}));
  EXPECT_THAT(at("Tanh"), near({-0.9640276f, 0, 0.9640276f}));
  EXPECT_THAT(at("Elu"), near({-0.8646647f, 0, 2}));
  EXPECT_THAT(at("HardSigmoid"), near({0.1f, 0.5f, 0.9f}));
  EXPECT_THAT(at("HardSwish"), near({-0.3333333f, 0, 1.6666666f}));
  EXPECT_THAT(at("Softplus"), near({0.126928f, 0.6931472f, 2.126928f}));
  EXPECT_THAT(at("Gelu"), near({-0.0455003f, 0, 1.9544997f}));
}

TEST(Import, WhatIsSaidToBeServedIsWhatIsImported) {
  std::vector<onnx::ServedOperator> rows;
  for (const onnx::Operator& row : onnx::allOperators())
    rows.push_back({row.domain, row.name, row.since, row.until});
  std::ranges::sort(rows);
  const auto served = onnx::servedOperators();
  for (std::size_t i = 0; i < std::min(rows.size(), served.size()); ++i)
    ASSERT_EQ(rows[i], served[i]) << rows[i].name << " or " << served[i].name;
  EXPECT_EQ(rows.size(), served.size());
}

TEST(Import, UnknownDimensionsAreEachTheirOwn) {
  for (const char* unknown : {"?", "-1", "None", ""}) {
    OnnxBuilder model;
    model.input("x", {unknown, -1, unknown}).input("z", {unknown}).output("y");
    model.node("Mul", {"x", "z"}, {"y"});
    EXPECT_THAT(errorOf(model).message, HasSubstr("the symbolic dimension 'x.0'")) << unknown;
    EXPECT_THAT(errorOf(model, {{"x.0", 2}, {"x.1", 3}, {"x.2", 4}}).message, HasSubstr("'z.0'")) << unknown;
    auto imported = import(model.build(), {{"x.0", 2}, {"x.1", 3}, {"x.2", 4}, {"z.0", 1}});
    ASSERT_TRUE(imported) << imported.error().message;
    EXPECT_THAT((*imported)->captured.inputs[0].shape, ElementsAre(2, 3, 4)) << unknown;
    EXPECT_THAT((*imported)->captured.inputs[0].dimNames, ElementsAre("x.0", "x.1", "x.2")) << unknown;
  }
}

TEST(Import, UnboundPinnedAndUnknownDimensions) {
  OnnxBuilder model;
  model.input("x", {"batch", 3}).output("y").node("Relu", {"x"}, {"y"});
  EXPECT_EQ(errorOf(model).code, Code::kUnimplemented);
  EXPECT_THAT(errorOf(model).message, HasSubstr("input 'x' has the symbolic dimension 'batch'"));
  EXPECT_THAT(errorOf(model).message, HasSubstr("--profile batch=N with a number"));
  EXPECT_THAT(errorOf(model, {{"batch", -1}}).message, HasSubstr("pins dimension 'batch' to -1"));
  EXPECT_THAT(errorOf(model, {{"batch", 2}, {"time", 9}}).message,
              HasSubstr("'time', which no input of the model has; it has batch"));
  auto imported = import(model.build(), {{"batch", 2}});
  ASSERT_TRUE(imported) << imported.error().message;
  EXPECT_THAT((*imported)->captured.inputs[0].shape, ElementsAre(2, 3));
  EXPECT_THAT((*imported)->captured.inputs[0].dimNames, ElementsAre("batch", ""));
}

// Reducing no elements gives the neutral one; what has none itself needs no calculation.
TEST(Import, EmptyTensors) {
  OnnxBuilder sum(13);
  sum.input("x", {2, 0, 3})
      .output("y")
      .initializer(onnxTensor("axes", {1}, std::vector<std::int64_t>{1}))
      .node("ReduceSum", {"x", "axes"}, {"s"}, {onnxInt("keepdims", 0)})
      .node("Exp", {"s"}, {"y"});
  std::vector<std::int64_t> shape;
  EXPECT_THAT(result(sum, {floats({2, 0, 3}, {})}, &shape), ElementsAre(1, 1, 1, 1, 1, 1));
  EXPECT_THAT(shape, ElementsAre(2, 3));
  OnnxBuilder chain(13);
  chain.input("x", {2, 0, 3}).output("y").node("Relu", {"x"}, {"r"}).node("Transpose", {"r"}, {"y"});
  EXPECT_THAT(result(chain, {floats({2, 0, 3}, {})}, &shape), ElementsAre());
  EXPECT_THAT(shape, ElementsAre(3, 0, 2));
  OnnxBuilder product(13);
  product.input("a", {2, 0}).input("b", {0, 2}).output("y").node("MatMul", {"a", "b"}, {"y"});
  EXPECT_THAT(result(product, {floats({2, 0}, {}), floats({0, 2}, {})}), ElementsAre(0, 0, 0, 0));
  OnnxBuilder joined(13);
  joined.input("a", {0, 2})
      .input("b", {1, 2})
      .output("y")
      .node("Concat", {"a", "b"}, {"y"}, {onnxInt("axis", 0)});
  EXPECT_THAT(result(joined, {floats({0, 2}, {}), floats({1, 2}, {3, 4})}), ElementsAre(3, 4));
}

TEST(Import, EinsumEquations) {
  const std::vector<HostTensor> matrix = {floats({2, 2}, {1, 2, 3, 4})};
  for (auto [equation, expected] :
       std::vector<std::pair<std::string, std::vector<float>>>{{"ij->ji", {1, 3, 2, 4}},
                                                               {"ji", {1, 3, 2, 4}},  // the letters in order
                                                               {"ii->i", {1, 4}},
                                                               {"ii", {5}},
                                                               {"...j->...", {3, 7}},
                                                               {" i j -> ", {10}}}) {
    OnnxBuilder model(13);
    model.input("x", {2, 2}).output("y").node("Einsum", {"x"}, {"y"}, {onnxText("equation", equation)});
    EXPECT_THAT(result(model, matrix), testing::ElementsAreArray(expected)) << equation;
  }
  OnnxBuilder chain(13);
  chain.input("a", {2, 2}).input("b", {2, 2}).input("c", {2}).output("y");
  chain.node("Einsum", {"a", "b", "c"}, {"y"}, {onnxText("equation", "ij,jk,k->i")});
  EXPECT_THAT(
      result(chain, {floats({2, 2}, {1, 2, 3, 4}), floats({2, 2}, {5, 6, 7, 8}), floats({2}, {1, 10})}),
      ElementsAre(65 + 2 * 87, 3 * 65 + 4 * 87));
  OnnxBuilder wrong(13);
  wrong.input("x", {2, 3}).output("y").node("Einsum", {"x"}, {"y"}, {onnxText("equation", "ii")});
  EXPECT_THAT(errorOf(wrong).message, HasSubstr("a label that is repeated has two extents"));
}

TEST(Import, QuantiseAndBack) {
  // Per axis: scales 1 and 0.5 for the rows; ties to even, saturation at both ends.
  OnnxBuilder model(21);
  model.input("x", {2, 4})
      .output("y")
      .initializer(onnxTensor("scale", {2}, std::vector<float>{1, 0.5f}))
      .initializer(
          ProtoMessage().varint(1, 2).varint(2, kOnnxInt4).text(8, "zero").text(9, std::string("\x10", 1)))
      .node("QuantizeLinear", {"x", "scale", "zero"}, {"q"}, {onnxInt("axis", 0)})
      .node("DequantizeLinear", {"q", "scale", "zero"}, {"y"}, {onnxInt("axis", 0)});
  EXPECT_THAT(result(model, {floats({2, 4}, {0.5f, 1.5f, 100, -100, 0.5f, 0.74f, 100, -100})}),
              ElementsAre(0, 2, 7, -8, 0.5f, 0.5f, 3, -4.5f));
}

// A matrix of four bits, two rows or columns to a block, with the numbers 1, -2; 3, -4; 5, -6; 7, -8: signed
// and as it is multiplied, unsigned with zero points, and transposed.
TEST(Import, MatricesOfFewBitsStayPacked) {
  const auto codes = [](const char* name, int type, std::vector<std::uint64_t> dims, const std::string& raw) {
    ProtoMessage tensor;
    for (const std::uint64_t dim : dims) tensor.varint(1, dim);
    return tensor.varint(2, static_cast<std::uint64_t>(type)).text(8, name).text(9, raw);
  };
  const auto check = [](OnnxBuilder& model) {
    EXPECT_THAT(result(model, {floats({1, 4}, {1, 1, 1, 1})}), ElementsAre(124, -1412));
    auto imported = import(model.build());
    ASSERT_TRUE(imported) << imported.error().message;
    std::string text;
    llvm::raw_string_ostream(text) << *(*imported)->captured.module;
    EXPECT_THAT(text, HasSubstr("kiln.dequantise"));
    EXPECT_THAT(
        text, HasSubstr("bits 4 : (tensor<2x1x2xui8>, tensor<2x2xf32>, tensor<2x2xui8>) -> tensor<4x2xf32>"));
  };
  const std::vector<ProtoMessage> blocks{onnxInt("axis", 0), onnxInt("block_size", 2)};
  const ProtoMessage scale = onnxTensor("scale", {2, 2}, std::vector<float>{1, 2, 10, 100});
  OnnxBuilder isSigned(21);
  isSigned.input("x", {1, 4}).output("y").initializer(scale);
  isSigned.initializer(codes("w", kOnnxInt4, {4, 2}, "\xe1\xc3\xa5\x87"))
      .node("DequantizeLinear", {"w", "scale"}, {"d"}, blocks)
      .node("MatMul", {"x", "d"}, {"y"});
  check(isSigned);
  OnnxBuilder isUnsigned(21);
  isUnsigned.input("x", {1, 4}).output("y").initializer(scale);
  isUnsigned.initializer(codes("w", kOnnxUint4, {4, 2}, "\x69\x4b\x2d\x0f"))
      .initializer(codes("zero", kOnnxUint4, {2, 2}, "\x88\x88"))
      .node("DequantizeLinear", {"w", "scale", "zero"}, {"d"}, blocks)
      .node("MatMul", {"x", "d"}, {"y"});
  check(isUnsigned);
  OnnxBuilder isTransposed(21);
  isTransposed.input("x", {1, 4}).output("y");
  isTransposed.initializer(codes("w", kOnnxInt4, {2, 4}, "\x31\x75\xce\x8a"))
      .initializer(onnxTensor("scale", {2, 2}, std::vector<float>{1, 10, 2, 100}))
      .node("DequantizeLinear", {"w", "scale"}, {"d"}, {onnxInt("axis", 1), onnxInt("block_size", 2)})
      .node("Gemm", {"x", "d"}, {"y"}, {onnxInt("transB", 1)});
  check(isTransposed);
}

// All of them, not the first one, also behind each other.
TEST(Import, ListsEveryUnsupportedNode) {
  OnnxBuilder model(13);
  model.input("x", {2})
      .output("y")
      .output("z")
      .importDomain("com.example", 3)
      .node("FancyNorm", {"x"}, {"a"}, {}, "fancy", "com.example")
      .node("Relu", {"a"}, {"b"}, {}, "behind")
      .node("ImageDecoder", {"b"}, {"y"}, {}, "image")
      .node("Cast", {"x"}, {"z"}, {onnxInt("to", kOnnxString)}, "text");
  Error error = errorOf(model);
  EXPECT_EQ(error.code, Code::kUnimplemented);
  EXPECT_EQ(
      error.details,
      R"({"unsupported":[{"domain":"com.example","node":"fancy","op":"FancyNorm","opset":3,"reason":"operators of domain 'com.example' are not served"},)"
      R"({"domain":"ai.onnx","node":"image","op":"ImageDecoder","opset":13,"reason":"this operator is not served yet"},)"
      R"({"domain":"ai.onnx","node":"text","op":"Cast","opset":13,"reason":"element type string is not served; tensors of numbers and bool are"}]})");
  EXPECT_THAT(error.message, HasSubstr("3 places of 4 nodes"));
  EXPECT_THAT(error.message, HasSubstr("node 'fancy' (com.example:FancyNorm, opset 3)"));
}

TEST(Import, OpsetsOutsideTheRange) {
  for (std::int64_t opset : {28, 0}) {
    OnnxBuilder model(opset);
    model.input("x", {2}).output("y").node("Relu", {"x"}, {"y"}, {}, "r");
    EXPECT_EQ(errorOf(model).code, Code::kUnimplemented);
    EXPECT_THAT(errorOf(model).message,
                HasSubstr("opset " + std::to_string(opset) + " is outside the served range 1 to 27"));
  }
  OnnxBuilder gelu(19);
  gelu.input("x", {2}).output("y").node("Gelu", {"x"}, {"y"}, {}, "g");
  EXPECT_THAT(errorOf(gelu).message, HasSubstr("served for opset 20 to 27 only"));
}

TEST(Import, UnservedTypesAndUses) {
  OnnxBuilder old(5);
  old.input("x", {2}).output("y").node("Relu", {"x"}, {"y"});
  EXPECT_THAT(errorOf(old).message, HasSubstr("served for opset 6 to 27 only"));
  OnnxBuilder text;
  text.input("x", {2}, kOnnxString).output("y", kOnnxString).node("Relu", {"x"}, {"y"});
  EXPECT_EQ(errorOf(text).code, Code::kUnimplemented);
  EXPECT_THAT(errorOf(text).message, HasSubstr("node 'x' ((input), opset 17): element type string"));
  OnnxBuilder runtimeShape;
  runtimeShape.input("x", {4})
      .input("s", {2}, kOnnxInt64)
      .output("y")
      .node("Reshape", {"x", "s"}, {"y"}, {}, "r");
  EXPECT_THAT(errorOf(runtimeShape).message, HasSubstr("the shape of Reshape must be known at compile time"));
  OnnxBuilder attribute;
  attribute.input("x", {4}).output("y").node("Relu", {"x"}, {"y"}, {onnxInt("surprise", 1)}, "r");
  EXPECT_THAT(errorOf(attribute).message, HasSubstr("attribute 'surprise' is not served"));
}

// A Reshape whose shape is the input s.
OnnxBuilder reshapeByInput() {
  OnnxBuilder model;
  model.input("x", {4}).input("s", {2}, kOnnxInt64).output("y");
  model.node("Reshape", {"x", "s"}, {"y"}, {}, "r");
  return model;
}

TEST(Import, PinnedInputsStayInputsAndAreConstants) {
  auto model = import(reshapeByInput().build(), {}, "", {{"s", {2, -1}}});
  ASSERT_TRUE(model) << model.error().message;
  ASSERT_EQ((*model)->captured.inputs.size(), 2u);
  EXPECT_EQ((*model)->captured.inputs[1].name, "s");
  EXPECT_EQ((*model)->captured.outputs[0].shape, (std::vector<std::int64_t>{2, 2}));
  auto results = reference::evaluate(*(*model)->captured.module, (*model)->captured.weights,
                                     {floats({4}, {1, 2, 3, 4}), longs({2}, {2, -1})});
  ASSERT_TRUE(results) << results.error().message;
  EXPECT_EQ(results->front(), floats({2, 2}, {1, 2, 3, 4}));
}

TEST(Import, PinsThatDoNotFit) {
  const auto refusal = [](const Pins& pins) {
    auto model = import(reshapeByInput().build(), {}, "", pins);
    EXPECT_FALSE(model);
    return model ? Error{} : model.error();
  };
  for (const Pins& pins : {Pins{{"t", {1}}}, Pins{{"s", {1, 2, 2}}}, Pins{{"s", {1, 0.5}}}})
    EXPECT_EQ(refusal(pins).code, Code::kFailedPrecondition) << "nothing is wrong with the model";
  EXPECT_THAT(
      refusal({{"t", {1}}}).message,
      HasSubstr("a value is pinned for 't', which is no input of the model; its inputs are 'x', 's'"));
  EXPECT_THAT(refusal({{"s", {1, 2, 2}}}).message,
              HasSubstr("pinned input 's': the pin has 3 values, shape 2 has 2 elements"));
  EXPECT_THAT(refusal({{"s", {1, 0.5}}}).message, HasSubstr("pinned input 's': value 1 (0.5) is no i64"));
}

TEST(Import, SparseInitializersAreNotServedByName) {
  OnnxBuilder model;
  model.input("x", {1}).output("y").sparseInitializer("w").node("Add", {"x", "w"}, {"y"});
  const Error error = errorOf(model);
  EXPECT_EQ(error.code, Code::kUnimplemented);
  EXPECT_THAT(error.message, HasSubstr("node 'w' ((initializer), opset 17): sparse initializers"));
}

TEST(Import, WrongModelsNameTheNode) {
  auto expect = [](const OnnxBuilder& model, std::string_view part) {
    Error error = errorOf(model);
    EXPECT_EQ(error.code, Code::kInvalidArgument) << error.message;
    EXPECT_THAT(error.message, HasSubstr(std::string(part)));
  };
  OnnxBuilder inner;
  inner.input("a", {2, 3}).input("b", {4, 2}).output("y").node("MatMul", {"a", "b"}, {"y"}, {}, "mm");
  expect(inner, "node 'mm' (MatMul, node[0]): inner dimensions differ: 3 and 4");
  OnnxBuilder shapes;
  shapes.input("a", {2, 3}).input("b", {4}).output("y").node("Add", {"a", "b"}, {"y"}, {}, "sum");
  expect(shapes, "shapes 2x3 and 4 cannot be broadcast");
  OnnxBuilder window;
  window.input("x", {1, 1, 2, 2})
      .output("y")
      .node("MaxPool", {"x"}, {"y"}, {onnxInts("kernel_shape", {3, 3})}, "p");
  expect(window, "spatial dimension 0: window of 3 exceeds the padded input of 2");
  OnnxBuilder dims;
  dims.input("x", {std::int64_t{1} << 30, std::int64_t{1} << 30}).output("y").node("Relu", {"x"}, {"y"});
  expect(dims, "input 'x' has the absurd shape");
  OnnxBuilder axis;
  axis.input("x", {2}).output("y").node("Softmax", {"x"}, {"y"}, {onnxInt("axis", 5)}, "s");
  expect(axis, "axis 5 is outside rank 1");
  OnnxBuilder huge;
  huge.input("x", {2})
      .output("y")
      .initializer(onnxTensor("s", {2}, std::vector<std::int64_t>{std::int64_t{1} << 40, 2}))
      .node("Expand", {"x", "s"}, {"y"}, {}, "e");
  expect(huge, "absurdly large");
  OnnxBuilder missing;
  missing.input("x", {2}).output("y").node("Add", {"x"}, {"y"}, {}, "a");
  expect(missing, "node 'a' (Add, node[0]): input 1 is missing");
  OnnxBuilder typed;
  typed.input("x", {2}).output("y").node("Softmax", {"x"}, {"y"}, {onnxText("axis", "last")}, "s");
  expect(typed, "attribute 'axis' is not an integer");
}

TEST(Import, EvidenceSaysWhereTheModelCameFrom) {
  OnnxBuilder model(13);
  model.input("x", {2})
      .output("y")
      .node("Relu", {"x"}, {"a"})
      .node("Relu", {"a"}, {"b"})
      .node("Abs", {"b"}, {"y"});
  auto imported = import(model.build());
  ASSERT_TRUE(imported) << imported.error().message;
  const ir::CaptureEvidence& evidence = (*imported)->captured.capture;
  EXPECT_EQ(evidence.producer, "kiln-test");
  EXPECT_EQ(evidence.irVersion, 8);
  EXPECT_EQ(evidence.opsets, (std::map<std::string, std::int64_t>{{"ai.onnx", 13}}));
  EXPECT_EQ(evidence.nodesByOp, (std::map<std::string, std::int64_t>{{"Abs", 1}, {"Relu", 2}}));
  EXPECT_EQ(evidence.served, 3);
}

// Bytes of a model changed at random: the importer ends, with a model or with one of three codes.
TEST(Import, MutatedModels) {
  OnnxBuilder builder(13);
  auto ints = [](std::string_view name, std::vector<std::int64_t> values) {
    return onnxTensor(name, {static_cast<std::int64_t>(values.size())}, values);
  };
  builder.input("x", {1, 2, 5, 5})
      .output("y")
      .initializer(onnxTensor("w", {2, 1, 2, 2}, std::vector<float>(8, 1)))
      .initializer(onnxTensor("b", {3, 8}, std::vector<float>(24, 2)))
      .initializer(ints("shape", {1, -1}))
      .initializer(ints("starts", {0}))
      .initializer(ints("ends", {8}))
      .initializer(ints("axes", {1}))
      .node("Conv", {"x", "w"}, {"c"},
            {onnxInt("group", 2), onnxInts("strides", {2, 2}), onnxInts("dilations", {1, 1})})
      .node("MaxPool", {"c"}, {"p"},
            {onnxInts("kernel_shape", {2, 2}), onnxInts("pads", {1, 1, 0, 0}), onnxInt("ceil_mode", 1)})
      .node("Reshape", {"p", "shape"}, {"r"})
      .node("Slice", {"r", "starts", "ends", "axes"}, {"s"})
      .node("Gemm", {"s", "b"}, {"g"}, {onnxInt("transB", 1)})
      .node("Softmax", {"g"}, {"q"}, {onnxInt("axis", 1)})
      .node("ReduceMean", {"q"}, {"m"}, {onnxInts("axes", {1})})
      .node("Concat", {"q", "m"}, {"y"}, {onnxInt("axis", 1)});
  const std::string original = builder.build();
  ASSERT_TRUE(import(original));
  std::mt19937 random(11);
  int imported = 0;
  for (int round = 0; round < 3000; ++round) {
    std::string bytes = original;
    for (unsigned edits = 1 + random() % 3; edits-- > 0;) {
      std::size_t at = random() % bytes.size();
      if (random() % 4)
        bytes[at] = static_cast<char>(random() % 3 ? random() % 16 : random());
      else
        bytes.insert(at, 1, static_cast<char>(random()));
    }
    auto model = import(bytes);
    imported += model.has_value();
    if (!model) {
      EXPECT_THAT(model.error().code,
                  testing::AnyOf(Code::kInvalidArgument, Code::kUnimplemented, Code::kNotFound))
          << model.error().message;
    }
  }
  EXPECT_GT(imported, 100);
}

// Weights stay where the file has them; splats and small tensors become constants.
TEST(Import, WeightsAreViews) {
  std::vector<float> values(400), same(400, 0.5f);
  for (int i = 0; i < 400; ++i) values[static_cast<std::size_t>(i)] = static_cast<float>(i);
  OnnxBuilder model;
  model.input("x", {400})
      .output("y")
      .initializer(onnxTensor("w", {400}, values))
      .initializer(onnxTensor("u", {400}, same))
      .node("Add", {"x", "w"}, {"a"})
      .node("Add", {"a", "u"}, {"y"});
  auto imported = import(model.build());
  ASSERT_TRUE(imported) << imported.error().message;
  const ir::WeightTable& weights = (*imported)->captured.weights;
  ASSERT_EQ(weights.size(), 1);
  Bytes file = asBytes((*imported)->bytes);
  EXPECT_GE(weights.find(0)->bytes.data(), file.data());
  EXPECT_LT(weights.find(0)->bytes.data(), file.data() + file.size());
  EXPECT_EQ(weights.find(0)->name, "w");
}

}  // namespace
}  // namespace kiln
