// Models that are wrong or absurd: each ends in a named error that says where, never in a crash, an internal
// error or an allocation of what the file claims.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tests/compiler_core/frontend/run_model.h"

namespace kiln::testing_support {
namespace {

using testing::AnyOf;
using testing::HasSubstr;
using Longs = std::vector<std::int64_t>;

constexpr std::int64_t kHuge = std::int64_t{1} << 62;

// The model is refused with a code of the caller's fault and all of `parts` in the message.
void expectRefused(const OnnxBuilder& model, const std::vector<std::string>& parts) {
  auto imported = import(model.build());
  ASSERT_FALSE(imported) << "was imported; expected a refusal naming " << parts.front();
  EXPECT_THAT(imported.error().code, AnyOf(Code::kInvalidArgument, Code::kUnimplemented))
      << imported.error().message;
  for (const std::string& part : parts) EXPECT_THAT(imported.error().message, HasSubstr(part));
}

// The model is imported, or refused by the caller's fault.
void expectNoFault(const OnnxBuilder& model) {
  auto imported = import(model.build());
  if (!imported) {
    EXPECT_THAT(imported.error().code, AnyOf(Code::kInvalidArgument, Code::kUnimplemented))
        << imported.error().message;
  }
}

// x -> op -> y, x of `shape`.
OnnxBuilder one(std::string_view op, const std::vector<OnnxDim>& shape,
                const std::vector<ProtoMessage>& attributes = {}) {
  OnnxBuilder model(13);
  model.input("x", shape).output("y").node(op, {"x"}, {"y"}, attributes, "culprit");
  return model;
}

// x and a constant list -> op -> y.
OnnxBuilder withList(std::string_view op, const std::vector<OnnxDim>& shape, const Longs& list,
                     std::int64_t opset = 13) {
  OnnxBuilder model(opset);
  model.input("x", shape).output("y");
  model.initializer(onnxTensor("list", {static_cast<std::int64_t>(list.size())}, list));
  model.node(op, {"x", "list"}, {"y"}, {}, "culprit");
  return model;
}

TEST(BadInput, AxesOutsideTheRank) {
  for (std::int64_t axis : {std::int64_t{2}, std::int64_t{-3}, kHuge, INT64_MIN, INT64_MAX}) {
    const std::vector<ProtoMessage> axisOnly = {onnxInt("axis", axis)};
    for (const char* op : {"Softmax", "LogSoftmax"}) expectRefused(one(op, {2, 3}, axisOnly), {"culprit"});
    expectRefused(one("Flatten", {2, 3}, {onnxInt("axis", axis == 2 ? 3 : axis)}), {"culprit"});
    expectRefused(withList("Squeeze", {2, 1}, {axis}), {"culprit"});
    expectRefused(withList("Unsqueeze", {2, 3}, {axis == 2 || axis == -3 ? 4 : axis}), {"culprit"});
    expectRefused(withList("ReduceSum", {2, 3}, {axis}), {"culprit"});
    expectRefused(one("ReduceMean", {2, 3}, {onnxInts("axes", {axis})}), {"culprit"});
    OnnxBuilder concat(13);
    concat.input("x", {2, 3}).output("y").node("Concat", {"x", "x"}, {"y"}, axisOnly, "culprit");
    expectRefused(concat, {"culprit"});
    OnnxBuilder gather(13);
    gather.input("x", {2, 3}).output("y").initializer(onnxTensor("i", {1}, Longs{0}));
    gather.node("Gather", {"x", "i"}, {"y"}, axisOnly, "culprit");
    expectRefused(gather, {"culprit"});
  }
  expectRefused(one("Transpose", {2, 3}, {onnxInts("perm", {0, 2})}), {"culprit"});
  expectRefused(one("Transpose", {2, 3}, {onnxInts("perm", {0, 0})}), {"culprit"});
  expectRefused(one("Transpose", {2, 3}, {onnxInts("perm", {-1, kHuge})}), {"culprit"});
}

TEST(BadInput, Windows) {
  const auto pool = [](const Longs& kernel, const Longs& strides, const Longs& pads) {
    return one("MaxPool", {1, 1, 4, 4},
               {onnxInts("kernel_shape", kernel), onnxInts("strides", strides), onnxInts("pads", pads)});
  };
  expectRefused(pool({2, 2}, {1, 1}, {-1, 0, 0, 0}), {"culprit"});
  expectRefused(pool({2, 2}, {1, 1}, {0, 0, INT64_MIN, 0}), {"culprit"});
  expectRefused(pool({2, 2}, {1, 1}, {kHuge, kHuge, kHuge, kHuge}), {"culprit"});
  expectRefused(pool({2, 2}, {0, 1}, {0, 0, 0, 0}), {"culprit"});
  expectRefused(pool({2, 2}, {-1, 1}, {0, 0, 0, 0}), {"culprit"});
  expectRefused(pool({0, 2}, {1, 1}, {0, 0, 0, 0}), {"culprit"});
  expectRefused(pool({kHuge, kHuge}, {1, 1}, {0, 0, 0, 0}), {"culprit"});
  expectRefused(pool({2}, {1, 1}, {0, 0, 0, 0}), {"culprit"});
  expectRefused(pool({2, 2}, {1, 1}, {0, 0}), {"culprit"});
  OnnxBuilder conv(13);
  conv.input("x", {1, 4, 5, 5}).input("w", {2, 3, 2, 2}).output("y");
  conv.node("Conv", {"x", "w"}, {"y"}, {}, "culprit");
  expectRefused(conv, {"culprit"});
  for (std::int64_t group : {std::int64_t{0}, std::int64_t{-1}, std::int64_t{3}, kHuge}) {
    OnnxBuilder grouped(13);
    grouped.input("x", {1, 4, 5, 5}).input("w", {4, 1, 2, 2}).output("y");
    grouped.node("Conv", {"x", "w"}, {"y"}, {onnxInt("group", group)}, "culprit");
    expectRefused(grouped, {"culprit"});
  }
}

TEST(BadInput, AbsurdDimensions) {
  expectRefused(one("Relu", {OnnxDim(kHuge)}), {"'x'"});
  expectRefused(one("Relu", {OnnxDim(kHuge), OnnxDim(kHuge), OnnxDim(kHuge)}), {"'x'"});
  expectRefused(one("Relu", {OnnxDim(INT64_MAX), OnnxDim(2)}), {"'x'"});
  expectRefused(withList("Expand", {1}, {kHuge}), {"culprit"});
  expectRefused(withList("Expand", {1}, {kHuge, kHuge, 4}), {"culprit"});
  expectRefused(withList("Expand", {1}, {-1}), {"culprit"});
  expectRefused(withList("Reshape", {4}, {kHuge, kHuge}), {"culprit"});
  expectRefused(withList("Reshape", {4}, {-1, -1}), {"culprit"});
  expectRefused(withList("Reshape", {4}, {-1, 3}), {"culprit"});
  expectRefused(withList("Reshape", {4}, {INT64_MIN}), {"culprit"});
  expectRefused(withList("Reshape", {4}, {0, 0}), {"culprit"});
  expectRefused(withList("Tile", {4}, {kHuge}), {"culprit"});
  OnnxBuilder filled(13);
  filled.input("x", {1}).output("y", kOnnxFloat).initializer(onnxTensor("s", {3}, Longs{kHuge, kHuge, 2}));
  filled.node("ConstantOfShape", {"s"}, {"c"}, {}, "culprit").node("Add", {"c", "x"}, {"y"});
  expectRefused(filled, {"culprit"});
  OnnxBuilder claimed(13);
  claimed.input("x", {1}).output("y").initializer(onnxTensor("w", {kHuge, 4}, std::vector<float>{1}));
  claimed.node("Add", {"x", "w"}, {"y"}, {}, "culprit");
  expectRefused(claimed, {"'w'"});
}

TEST(BadInput, RanksThatAnOperatorCannotTake) {
  for (const char* op : {"Softmax", "Transpose", "Flatten", "GlobalAveragePool", "GlobalMaxPool", "ReduceSum",
                         "Shape", "Relu", "Identity"})
    expectNoFault(one(op, {}));
  for (const char* op : {"MaxPool", "AveragePool"})
    expectRefused(one(op, {}, {onnxInts("kernel_shape", {2})}), {"culprit"});
  OnnxBuilder product(13);
  product.input("a", {}).input("b", {3}).output("y").node("MatMul", {"a", "b"}, {"y"}, {}, "culprit");
  expectRefused(product, {"culprit"});
  OnnxBuilder gemm(13);
  gemm.input("a", {2, 2, 2}).input("b", {2, 2}).output("y").node("Gemm", {"a", "b"}, {"y"}, {}, "culprit");
  expectRefused(gemm, {"culprit"});
  OnnxBuilder concat(13);
  concat.input("a", {}).input("b", {}).output("y");
  concat.node("Concat", {"a", "b"}, {"y"}, {onnxInt("axis", 0)}, "culprit");
  expectRefused(concat, {"culprit"});
  OnnxBuilder gather(13);
  gather.input("a", {}).output("y").initializer(onnxTensor("i", {1}, Longs{0}));
  gather.node("Gather", {"a", "i"}, {"y"}, {}, "culprit");
  expectRefused(gather, {"culprit"});
  OnnxBuilder norm(13);
  norm.input("x", {4}).initializer(onnxTensor("s", {4}, std::vector<float>(4, 1))).output("y");
  norm.node("BatchNormalization", {"x", "s", "s", "s", "s"}, {"y"}, {}, "culprit");
  expectRefused(norm, {"culprit"});
}

TEST(BadInput, DimensionsWithoutElements) {
  for (const char* op :
       {"Relu", "Softmax", "Transpose", "Flatten", "ReduceSum", "ReduceMax", "GlobalAveragePool"})
    expectNoFault(one(op, {2, 0, 3, 3}));
  expectNoFault(one("MaxPool", {0, 1, 4, 4}, {onnxInts("kernel_shape", {2, 2})}));
  expectNoFault(withList("Reshape", {0, 4}, {0, -1}));
  expectNoFault(withList("Expand", {1}, {0}));
  OnnxBuilder product(13);
  product.input("a", {2, 0}).input("b", {0, 3}).output("y").node("MatMul", {"a", "b"}, {"y"}, {}, "culprit");
  expectNoFault(product);
}

// A constant that is no number decides a shape.
TEST(BadInput, NotANumber) {
  const float nan = std::nanf(""), infinity = std::numeric_limits<float>::infinity();
  for (float value : {nan, infinity, -infinity, 1e30f}) {
    OnnxBuilder model(13);
    model.input("x", {4}).output("y").initializer(onnxTensor("f", {1}, std::vector<float>{value}));
    model.node("Cast", {"f"}, {"s"}, {onnxInt("to", 7)}, "cast")
        .node("Reshape", {"x", "s"}, {"y"}, {}, "culprit");
    expectNoFault(model);
    OnnxBuilder sum(13);
    sum.input("x", {1}).output("y").initializer(onnxTensor("f", {1}, std::vector<float>{value}));
    sum.node("Add", {"x", "f"}, {"y"});
    EXPECT_TRUE(import(sum.build()));
    OnnxBuilder clip(13);
    clip.input("x", {1}).output("y").initializer(onnxTensor("f", {}, std::vector<float>{value}));
    clip.node("Clip", {"x", "f", "f"}, {"y"});
    expectNoFault(clip);
  }
  // Integer arithmetic that overflows or divides by zero while shapes are folded.
  for (const char* op : {"Add", "Mul", "Div", "Sub", "Mod"}) {
    for (const Longs& pair : {Longs{INT64_MIN, -1}, Longs{1, 0}, Longs{INT64_MAX, INT64_MAX}}) {
      OnnxBuilder model(13);
      model.input("x", {4}).output("y");
      model.initializer(onnxTensor("a", {1}, Longs{pair[0]}))
          .initializer(onnxTensor("b", {1}, Longs{pair[1]}));
      model.node(op, {"a", "b"}, {"s"}, {}, "arithmetic").node("Reshape", {"x", "s"}, {"y"}, {}, "culprit");
      expectNoFault(model);
    }
  }
}

TEST(BadInput, Names) {
  OnnxBuilder twice(13);
  twice.input("x", {2}).input("x", {2}).output("y").node("Relu", {"x"}, {"y"});
  expectRefused(twice, {"x"});
  OnnxBuilder weights(13);
  const ProtoMessage w = onnxTensor("w", {2}, std::vector<float>{1, 2});
  weights.input("x", {2}).initializer(w).initializer(w).output("y").node("Add", {"x", "w"}, {"y"});
  expectRefused(weights, {"w"});
  OnnxBuilder producers(13);
  producers.input("x", {2})
      .output("y")
      .node("Relu", {"x"}, {"y"}, {}, "first")
      .node("Abs", {"x"}, {"y"}, {}, "second");
  expectRefused(producers, {"y"});
  OnnxBuilder shadow(13);
  shadow.input("x", {2}).output("y").node("Relu", {"x"}, {"x"}, {}, "culprit").node("Relu", {"x"}, {"y"});
  expectRefused(shadow, {"x"});
  OnnxBuilder missing(13);
  missing.input("x", {2}).output("y").node("Add", {"x", "nowhere"}, {"y"}, {}, "culprit");
  expectRefused(missing, {"nowhere", "culprit"});
  OnnxBuilder output(13);
  output.input("x", {2}).output("nothing").node("Relu", {"x"}, {"y"});
  expectRefused(output, {"nothing"});
}

// What a text attribute holds goes into messages: it cannot forge a line of a log or end one early.
TEST(BadInput, TextsWithControlCharacters) {
  for (const std::string& word : {std::string("a\0b", 3), std::string("a\nb"), std::string("\xff")}) {
    SCOPED_TRACE(word);
    const std::string part = "is not UTF-8 text without control characters";
    expectRefused(
        one("MaxPool", {1, 1, 4, 4}, {onnxInts("kernel_shape", {2, 2}), onnxText("auto_pad", word)}),
        {"culprit", part});
    expectRefused(one("Einsum", {2, 2}, {onnxText("equation", word)}), {"culprit", part});
    OnnxBuilder recurrent(14);
    recurrent.input("x", {1, 1, 2}).input("w", {1, 2, 2}).input("r", {1, 2, 2}).output("y");
    recurrent.node("RNN", {"x", "w", "r"}, {"y"},
                   {onnxTexts("activations", {word}), onnxInt("hidden_size", 2)}, "culprit");
    expectRefused(recurrent, {"culprit", part});
  }
}

// Tuples of no index name no dimension.
TEST(BadInput, IndexTuplesWithoutAnIndex) {
  OnnxBuilder gather(13), scatter(16);
  gather.input("x", {2, 3}).input("i", {0}, kOnnxInt64).output("y");
  gather.node("GatherND", {"x", "i"}, {"y"}, {}, "culprit");
  expectRefused(gather, {"culprit", "index tuples of length 0"});
  scatter.input("x", {2, 3}).input("i", {4, 0}, kOnnxInt64).input("u", {4, 2, 3}).output("y");
  scatter.node("ScatterND", {"x", "i", "u"}, {"y"}, {}, "culprit");
  expectRefused(scatter, {"culprit", "index tuples of length 0"});
}

TEST(BadInput, SubgraphsThatCaptureNothing) {
  const auto branch = [](std::string_view attribute, std::string_view captured) {
    ProtoMessage graph;
    graph.message(1, ProtoMessage().text(1, captured).text(2, "inner").text(3, "inside").text(4, "Relu"));
    graph.message(12, ProtoMessage().text(1, "inner"));
    return ProtoMessage().text(1, attribute).message(6, graph).varint(20, 5);
  };
  OnnxBuilder model(13);
  model.input("x", {2}).input("c", {}, kOnnxBool).output("y");
  model.node("If", {"c"}, {"y"}, {branch("then_branch", "x"), branch("else_branch", "undefined")}, "culprit");
  expectRefused(model, {"culprit"});
}

TEST(BadInput, OperandsThatDoNotFit) {
  const auto two = [](std::string_view op, const std::vector<OnnxDim>& a, const std::vector<OnnxDim>& b,
                      int type) {
    OnnxBuilder model(13);
    model.input("a", a).input("b", b, type).output("y").node(op, {"a", "b"}, {"y"}, {}, "culprit");
    return model;
  };
  expectRefused(two("Add", {2, 3}, {2}, kOnnxFloat), {"culprit"});
  expectRefused(two("Add", {2}, {2}, kOnnxInt64), {"culprit"});
  expectRefused(two("MatMul", {2, 3}, {4, 5}, kOnnxFloat), {"culprit"});
  expectRefused(two("MatMul", {5, 2, 3}, {4, 3, 5}, kOnnxFloat), {"culprit"});
  expectRefused(two("Gemm", {2, 3}, {4, 5}, kOnnxFloat), {"culprit"});
  expectRefused(two("Concat", {2, 3}, {2, 3, 4}, kOnnxFloat), {"culprit"});
  expectRefused(withList("Split", {5}, {2, 2}), {"culprit"});
  expectRefused(withList("Split", {5}, {6, -1}), {"culprit"});
}

}  // namespace
}  // namespace kiln::testing_support
