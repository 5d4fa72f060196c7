// Operators that read and write by tensors of indices, and those that make tensors of positions.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/compiler_core/frontend/run_model.h"

namespace kiln {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using namespace testing_support;

struct Given {
  HostTensor value;
  bool constant = false;
};

OnnxBuilder modelOf(std::int64_t opset, const std::string& op, const std::vector<Given>& inputs,
                    const std::vector<ProtoMessage>& attributes, int type) {
  OnnxBuilder model(opset);
  std::vector<std::string> names;
  for (const auto& [value, constant] : inputs) {
    names.push_back("i" + std::to_string(names.size()));
    const bool isFloat = value.dtype == DType::kF32;
    if (!constant) {
      model.input(names.back(), {value.shape.begin(), value.shape.end()}, isFloat ? kOnnxFloat : kOnnxInt64);
    } else if (isFloat) {
      model.initializer(onnxTensor(names.back(), value.shape, floatsOf(value)));
    } else {
      const std::int64_t* data = value.data<std::int64_t>();
      model.initializer(
          onnxTensor(names.back(), value.shape, std::vector<std::int64_t>(data, data + value.elements())));
    }
  }
  model.output("y", type).node(op, names, {"y"}, attributes);
  return model;
}

HostTensor output(std::int64_t opset, const std::string& op, const std::vector<Given>& inputs,
                  const std::vector<ProtoMessage>& attributes = {}, int type = kOnnxFloat) {
  std::vector<HostTensor> values;
  for (const Given& input : inputs)
    if (!input.constant) values.push_back(input.value);
  auto result = run(modelOf(opset, op, inputs, attributes, type), values);
  EXPECT_TRUE(result) << op << ": " << (result ? "" : result.error().message);
  return result ? result->at(0) : floats({}, {0});
}

std::vector<float> values(std::int64_t opset, const std::string& op, const std::vector<Given>& inputs,
                          const std::vector<ProtoMessage>& attributes = {}) {
  return floatsOf(output(opset, op, inputs, attributes));
}

TEST(Indexing, GatherElementsCountsFromTheEnd) {
  EXPECT_THAT(
      values(13, "GatherElements", {{floats({2, 3}, {1, 2, 3, 4, 5, 6})}, {longs({2, 2}, {-1, 0, 1, -3})}},
             {onnxInt("axis", 1)}),
      ElementsAre(3, 1, 5, 4));
  EXPECT_THAT(values(11, "GatherElements", {{floats({2, 2}, {1, 2, 3, 4})}, {longs({1, 2}, {1, 0})}}),
              ElementsAre(3, 2));
}

TEST(Indexing, GatherNdWithBatches) {
  const HostTensor data = floats({2, 2, 2}, {0, 1, 2, 3, 4, 5, 6, 7});
  EXPECT_THAT(values(11, "GatherND", {{data}, {longs({2, 3}, {0, 0, 1, 1, -1, 0})}}), ElementsAre(1, 6));
  EXPECT_THAT(values(11, "GatherND", {{data}, {longs({2, 1, 2}, {0, 1, 1, 0})}}), ElementsAre(2, 3, 4, 5));
  EXPECT_THAT(values(12, "GatherND", {{data}, {longs({2, 1}, {1, 0})}}, {onnxInt("batch_dims", 1)}),
              ElementsAre(2, 3, 4, 5));
}

TEST(Indexing, ScatterElementsOfEveryVersion) {
  const HostTensor data = floats({5}, {1, 2, 3, 4, 5}), updates = floats({3}, {10, 20, 30});
  const HostTensor indices = longs({3}, {1, -1, 1});
  EXPECT_THAT(values(9, "Scatter", {{data}, {indices}, {updates}}), ElementsAre(1, 30, 3, 4, 20));
  EXPECT_THAT(values(18, "ScatterElements", {{data}, {indices}, {updates}}, {onnxText("reduction", "add")}),
              ElementsAre(1, 42, 3, 4, 25));
  EXPECT_THAT(values(16, "ScatterElements", {{data}, {indices}, {updates}}, {onnxText("reduction", "mul")}),
              ElementsAre(1, 600, 3, 4, 100));
  EXPECT_THAT(values(18, "ScatterElements", {{data}, {indices}, {updates}}, {onnxText("reduction", "min")}),
              ElementsAre(1, 2, 3, 4, 5));
  EXPECT_THAT(
      values(13, "ScatterElements",
             {{floats({2, 3}, {0, 0, 0, 0, 0, 0})}, {longs({2, 1}, {2, 0})}, {floats({2, 1}, {7, 8})}},
             {onnxInt("axis", 1)}),
      ElementsAre(0, 0, 7, 8, 0, 0));
  // An index outside the axis reaches no other row.
  EXPECT_THAT(values(13, "ScatterElements",
                     {{floats({2, 2}, {0, 0, 0, 0})}, {longs({2, 1}, {2, -3})}, {floats({2, 1}, {7, 8})}},
                     {onnxInt("axis", 1)}),
              ElementsAre(0, 0, 0, 0));
}

TEST(Indexing, ScatterNd) {
  EXPECT_THAT(
      values(18, "ScatterND",
             {{floats({3, 2}, {1, 2, 3, 4, 5, 6})}, {longs({2, 1}, {2, 0})}, {floats({2, 2}, {9, 8, 7, 6})}}),
      ElementsAre(7, 6, 3, 4, 9, 8));
  EXPECT_THAT(
      values(18, "ScatterND",
             {{floats({2, 2}, {1, 2, 3, 4})}, {longs({3, 2}, {0, 1, -1, 0, 0, 1})}, {floats({3}, {9, 8, 7})}},
             {onnxText("reduction", "max")}),
      ElementsAre(1, 9, 8, 4));
}

TEST(Indexing, TensorScatterLinearAndCircular) {
  const HostTensor cache = floats({2, 3, 1}, {1, 2, 3, 4, 5, 6}),
                   update = floats({2, 2, 1}, {10, 20, 30, 40});
  EXPECT_THAT(values(24, "TensorScatter", {{cache}, {update}}), ElementsAre(10, 20, 3, 30, 40, 6));
  EXPECT_THAT(
      values(24, "TensorScatter", {{cache}, {update}, {longs({2}, {1, 2})}}, {onnxText("mode", "circular")}),
      ElementsAre(1, 10, 20, 40, 5, 30));
}

TEST(Indexing, ReverseSequence) {
  const HostTensor x = floats({3, 2}, {1, 2, 3, 4, 5, 6});
  EXPECT_THAT(values(10, "ReverseSequence", {{x}, {longs({2}, {2, 3})}}), ElementsAre(3, 6, 1, 4, 5, 2));
  EXPECT_THAT(values(10, "ReverseSequence", {{x}, {longs({3}, {2, 1, 2})}},
                     {onnxInt("time_axis", 1), onnxInt("batch_axis", 0)}),
              ElementsAre(2, 1, 3, 4, 6, 5));
}

TEST(Indexing, MaxUnpoolAndCol2Im) {
  EXPECT_THAT(values(11, "MaxUnpool", {{floats({1, 1, 1, 2}, {5, 6})}, {longs({1, 1, 1, 2}, {1, 6})}},
                     {onnxInts("kernel_shape", {2, 2}), onnxInts("strides", {2, 2})}),
              ElementsAre(0, 5, 0, 0, 0, 0, 6, 0));
  // Columns of a 2-wide window over 3 elements overlap in the middle.
  EXPECT_THAT(values(18, "Col2Im",
                     {{floats({1, 2, 2}, {1, 2, 3, 4})}, {longs({1}, {3}), true}, {longs({1}, {2}), true}}),
              ElementsAre(1, 5, 4));
}

TEST(Generator, OneHotRangeEyeTrilu) {
  EXPECT_THAT(
      values(11, "OneHot", {{longs({3}, {1, -1, 5})}, {longs({1}, {3}), true}, {floats({2}, {-1, 1})}}),
      ElementsAre(-1, 1, -1, -1, -1, 1, -1, -1, -1));
  const HostTensor hot =
      output(9, "OneHot", {{longs({2}, {0, 1})}, {longs({}, {3}), true}, {floats({2}, {0, 1})}},
             {onnxInt("axis", 0)});
  EXPECT_THAT(hot.shape, ElementsAre(3, 2));
  EXPECT_THAT(
      values(11, "Range", {{floats({}, {1}), true}, {floats({}, {5}), true}, {floats({}, {1.5}), true}}),
      ElementsAre(1, 2.5, 4));
  const HostTensor down =
      output(11, "Range", {{longs({}, {10}), true}, {longs({}, {4}), true}, {longs({}, {-2}), true}}, {},
             kOnnxInt64);
  EXPECT_EQ(down, longs({3}, {10, 8, 6}));
  EXPECT_THAT(values(9, "EyeLike", {{floats({2, 3}, {9, 9, 9, 9, 9, 9})}}, {onnxInt("k", 1)}),
              ElementsAre(0, 1, 0, 0, 0, 1));
  const HostTensor x = floats({2, 3}, {1, 2, 3, 4, 5, 6});
  EXPECT_THAT(values(14, "Trilu", {{x}}), ElementsAre(1, 2, 3, 0, 5, 6));
  EXPECT_THAT(values(14, "Trilu", {{x}, {longs({}, {-1})}}, {onnxInt("upper", 0)}),
              ElementsAre(0, 0, 0, 4, 0, 0));
}

TEST(Indexing, WrongUses) {
  const auto errorOf = [](const OnnxBuilder& model) {
    auto imported = import(model.build());
    return imported ? std::string("imported") : imported.error().message;
  };
  const HostTensor x = floats({2, 2}, {1, 2, 3, 4});
  EXPECT_THAT(errorOf(modelOf(13, "GatherElements", {{x}, {longs({2}, {0, 1})}}, {}, kOnnxFloat)),
              HasSubstr("indices have another rank"));
  EXPECT_THAT(
      errorOf(modelOf(13, "ScatterElements",
                      {{x}, {longs({3, 2}, {0, 1, 0, 1, 0, 1})}, {floats({3, 2}, {1, 1, 1, 1, 1, 1})}},
                      {onnxInt("axis", 1)}, kOnnxFloat)),
      HasSubstr("exceed data"));
  EXPECT_THAT(errorOf(modelOf(13, "ScatterND", {{x}, {longs({1, 3}, {0, 0, 0})}, {floats({1}, {1})}}, {},
                              kOnnxFloat)),
              HasSubstr("index tuples of length 3"));
  EXPECT_THAT(errorOf(modelOf(16, "ScatterND", {{x}, {longs({1, 2}, {0, 0})}, {floats({1}, {1})}},
                              {onnxText("reduction", "max")}, kOnnxFloat)),
              HasSubstr("reduction 'max' is not one of this opset"));
  EXPECT_THAT(
      errorOf(modelOf(11, "Range", {{longs({}, {0})}, {longs({}, {4})}, {longs({}, {1})}}, {}, kOnnxInt64)),
      HasSubstr("must be known at compile time"));
}

}  // namespace
}  // namespace kiln
