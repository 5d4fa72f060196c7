// Operators that read and write by tensors of indices, and those that make tensors of positions.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "compiler_core/ir/ir.h"
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
  EXPECT_THAT(
      values(10, "ReverseSequence", {{floats({2, 2, 2}, {1, 2, 3, 4, 5, 6, 7, 8})}, {longs({2}, {2, 1})}}),
      ElementsAre(5, 6, 3, 4, 1, 2, 7, 8))
      << "rows of more than one element";
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

TEST(Indexing, MaxUnpoolWithPadsAndWithMoreRoom) {
  EXPECT_THAT(values(11, "MaxUnpool", {{floats({1, 1, 2}, {5, 6})}, {longs({1, 1, 2}, {0, 2})}},
                     {onnxInts("kernel_shape", {3}), onnxInts("strides", {2}), onnxInts("pads", {1, 1})}),
              ElementsAre(5, 0, 6));
  // Indices count in the shape that the kernel gives, [1, 1, 2, 4].
  for (const std::int64_t columns : {4, 5}) {
    const HostTensor roomy = output(11, "MaxUnpool",
                                    {{floats({1, 1, 1, 2}, {5, 6})},
                                     {longs({1, 1, 1, 2}, {1, 6})},
                                     {longs({4}, {1, 1, 2, columns}), true}},
                                    {onnxInts("kernel_shape", {2, 2}), onnxInts("strides", {2, 2})});
    EXPECT_THAT(roomy.shape, ElementsAre(1, 1, 2, columns));
    std::vector<float> expected(static_cast<std::size_t>(2 * columns), 0);
    expected[1] = 5;
    expected[static_cast<std::size_t>(columns + 2)] = 6;
    EXPECT_EQ(floatsOf(roomy), expected);
  }
}

TEST(Indexing, Col2ImWithChannelsPadsAndDilations) {
  EXPECT_THAT(values(18, "Col2Im",
                     {{floats({1, 4, 4}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16})},
                      {longs({1}, {4}), true},
                      {longs({1}, {2}), true}},
                     {onnxInts("dilations", {2}), onnxInts("pads", {1, 1})}),
              ElementsAre(2, 8, 10, 7, 10, 24, 26, 15));
  EXPECT_THAT(values(18, "Col2Im",
                     {{floats({1, 2, 4}, {1, 2, 3, 4, 5, 6, 7, 8})},
                      {longs({2}, {2, 3}), true},
                      {longs({2}, {1, 2}), true}}),
              ElementsAre(1, 7, 6, 3, 11, 8));
  EXPECT_THAT(values(18, "Col2Im",
                     {{floats({1, 2, 2}, {1, 2, 3, 4})}, {longs({1}, {4}), true}, {longs({1}, {2}), true}},
                     {onnxInts("strides", {2})}),
              ElementsAre(1, 3, 2, 4));
}

TEST(Indexing, PositionsAreMadeOfNoMoreThanTheyNeed) {
  const auto model = import(
      modelOf(13, "GatherElements", {{floats({4}, {1, 2, 3, 4})}, {longs({2}, {3, -1})}}, {}, kOnnxFloat)
          .build());
  ASSERT_TRUE(model) << model.error().message;
  int products = 0, selections = 0;
  (*model)->captured.module->walk(
      [&](ir::BinaryOp op) { products += op.getKind() == ir::BinaryKind::Mul ? 1 : 0; });
  (*model)->captured.module->walk([&](ir::SelectOp) { ++selections; });
  EXPECT_EQ(products, 0) << "the last dimension counts by one";
  EXPECT_EQ(selections, 1) << "what counts from the end; only who writes leaves positions out";
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

// What importing says of one node, "imported" if nothing.
std::string refusal(std::int64_t opset, const std::string& op, const std::vector<Given>& inputs,
                    const std::vector<ProtoMessage>& attributes = {}) {
  auto imported = import(modelOf(opset, op, inputs, attributes, kOnnxFloat).build());
  return imported ? "imported" : imported.error().message;
}

Given list(const std::vector<std::int64_t>& numbers) {
  return {longs({static_cast<std::int64_t>(numbers.size())}, numbers), true};
}

HostTensor zeros(const std::vector<std::int64_t>& shape) {
  std::int64_t count = 1;
  for (const std::int64_t extent : shape) count *= extent;
  return floats(shape, std::vector<float>(static_cast<std::size_t>(count), 0));
}

TEST(Indexing, ElementsThatDoNotFit) {
  const HostTensor x = zeros({2, 2});
  EXPECT_THAT(refusal(13, "GatherElements", {{x}, {longs({2}, {0, 1})}}),
              HasSubstr("indices have another rank"));
  EXPECT_THAT(refusal(13, "ScatterElements", {{x}, {longs({3, 2}, {0, 1, 0, 1, 0, 1})}, {zeros({3, 2})}},
                      {onnxInt("axis", 1)}),
              HasSubstr("exceed data"));
  EXPECT_THAT(refusal(13, "ScatterElements", {{x}, {longs({1, 2}, {0, 1})}, {zeros({2, 1})}}),
              HasSubstr("updates and indices differ in shape"));
  for (const char* reduction : {"max", "min"})
    EXPECT_THAT(refusal(16, "ScatterND", {{x}, {longs({1, 2}, {0, 0})}, {zeros({1})}},
                        {onnxText("reduction", reduction)}),
                HasSubstr(std::string("reduction '") + reduction + "' is not one of this opset"));
  EXPECT_THAT(refusal(18, "ScatterElements", {{x}, {longs({1, 1}, {0})}, {zeros({1, 1})}},
                      {onnxText("reduction", "xor")}),
              HasSubstr("reduction 'xor'"));
}

TEST(Indexing, TuplesThatDoNotFit) {
  const HostTensor x = zeros({2, 2});
  EXPECT_THAT(refusal(13, "ScatterND", {{x}, {longs({1, 3}, {0, 0, 0})}, {zeros({1})}}),
              HasSubstr("index tuples of length 3"));
  EXPECT_THAT(refusal(13, "ScatterND", {{x}, {longs({1, 1}, {0})}, {zeros({1, 3})}}),
              HasSubstr("instead of"));
  EXPECT_THAT(refusal(13, "ScatterND", {{x}, {longs({1, 1}, {0})}, {zeros({2})}}), HasSubstr("instead of"));
  for (const std::int64_t dims : {-1, 2, 3})
    EXPECT_THAT(refusal(12, "GatherND", {{x}, {longs({2, 1}, {0, 1})}}, {onnxInt("batch_dims", dims)}),
                HasSubstr("batch_dims is outside the ranks"))
        << dims;
  EXPECT_THAT(refusal(12, "GatherND", {{zeros({2, 2, 2})}, {longs({2, 2}, {0, 1, 1, 0})}},
                      {onnxInt("batch_dims", 2)}),
              HasSubstr("batch_dims is outside the ranks"))
      << "of the indices alone";
  EXPECT_THAT(refusal(12, "GatherND", {{zeros({2})}, {longs({2, 1, 1}, {0, 0})}}, {onnxInt("batch_dims", 1)}),
              HasSubstr("batch_dims is outside the ranks"))
      << "of the data alone";
  EXPECT_THAT(refusal(12, "GatherND", {{x}, {longs({3, 1}, {0, 1, 0})}}, {onnxInt("batch_dims", 1)}),
              HasSubstr("batch dimensions differ"));
}

TEST(Indexing, SequencesThatDoNotFit) {
  const HostTensor cache = zeros({1, 3, 1}), update = zeros({1, 2, 1});
  const auto scatter = [&](const std::vector<Given>& inputs, const std::vector<ProtoMessage>& attributes) {
    return refusal(24, "TensorScatter", inputs, attributes);
  };
  EXPECT_THAT(scatter({{cache}, {update}}, {onnxText("mode", "round")}),
              HasSubstr("mode 'round' is neither linear nor circular"));
  EXPECT_THAT(scatter({{cache}, {update}}, {onnxInt("axis", 0)}), HasSubstr("the batch dimension"));
  for (const HostTensor& other : {zeros({1, 2, 2}), zeros({2, 2, 1}), zeros({1, 2}), zeros({1, 2, 1, 1})})
    EXPECT_THAT(scatter({{cache}, {other}}, {}), HasSubstr("the update differs from the cache"));
  EXPECT_THAT(scatter({{cache}, {update}, {longs({2}, {0, 0})}}, {}),
              HasSubstr("write_indices has one element per sample"));

  const HostTensor x = zeros({3, 2});
  const auto reverse = [](const HostTensor& input, std::int64_t lengths, std::int64_t time,
                          std::int64_t batch) {
    return refusal(
        10, "ReverseSequence",
        {{input}, {longs({lengths}, std::vector<std::int64_t>(static_cast<std::size_t>(lengths), 1))}},
        {onnxInt("time_axis", time), onnxInt("batch_axis", batch)});
  };
  for (const auto& [time, batch] : {std::pair{0, 0}, {1, 1}, {2, -1}, {-1, 2}, {0, 2}})
    EXPECT_THAT(reverse(x, 2, time, batch), HasSubstr("time_axis and batch_axis are 0 and 1"))
        << time << " " << batch;
  EXPECT_THAT(reverse(zeros({2}), 2, 0, 1), HasSubstr("time_axis and batch_axis are 0 and 1"));
  EXPECT_THAT(reverse(x, 3, 0, 1), HasSubstr("sequence_lens has one element per sample"));
  EXPECT_THAT(reverse(x, 2, 1, 0), HasSubstr("sequence_lens has one element per sample"));
}

constexpr std::int64_t kLargestStep = std::int64_t{1} << 31;

TEST(Indexing, PoolsThatDoNotFit) {
  const auto unpool = [](const std::vector<ProtoMessage>& attributes, const std::vector<Given>& more = {},
                         const HostTensor& indices = longs({1, 1, 2}, {0, 1})) {
    std::vector<Given> inputs{{zeros({1, 1, 2})}, {indices}};
    inputs.insert(inputs.end(), more.begin(), more.end());
    return refusal(11, "MaxUnpool", inputs, attributes);
  };
  const ProtoMessage kernel = onnxInts("kernel_shape", {2});
  EXPECT_EQ(unpool({kernel}), "imported");
  EXPECT_THAT(unpool({}), HasSubstr("attribute 'kernel_shape' is missing"));
  EXPECT_THAT(unpool({onnxInts("kernel_shape", {2, 2})}), HasSubstr("'kernel_shape' has 2 entries"));
  EXPECT_THAT(unpool({kernel, onnxInts("strides", {1, 1})}), HasSubstr("'strides' has 2 entries"));
  EXPECT_THAT(unpool({kernel, onnxInts("pads", {0})}), HasSubstr("'pads' has 1 entries"));
  EXPECT_THAT(unpool({onnxInts("kernel_shape", {0})}), HasSubstr("the value 0 is out of range"));
  EXPECT_THAT(unpool({kernel, onnxInts("strides", {0})}), HasSubstr("the value 0 is out of range"));
  EXPECT_THAT(unpool({kernel, onnxInts("pads", {0, -1})}), HasSubstr("the value -1 is out of range"));
  EXPECT_THAT(unpool({kernel, onnxInts("strides", {kLargestStep + 1})}),
              HasSubstr("the value 2147483649 is out of range"));
  EXPECT_THAT(unpool({kernel}, {}, longs({1, 2, 1}, {0, 1})), HasSubstr("indices and input differ in shape"));
  EXPECT_THAT(unpool({onnxInts("kernel_shape", {1}), onnxInts("pads", {1, 1})}),
              HasSubstr("the result has no elements"));
  EXPECT_THAT(unpool({kernel}, {list({1, 3})}), HasSubstr("output_shape has another rank"));
  EXPECT_THAT(unpool({kernel}, {list({1, 1, 2})}), HasSubstr("output_shape is smaller"));
  EXPECT_THAT(unpool({kernel}, {list({1, 1, kLargestStep + 1})}), HasSubstr("output_shape is smaller"));
  EXPECT_THAT(refusal(11, "MaxUnpool", {{zeros({1, 2})}, {longs({1, 2}, {0, 1})}}, {kernel}),
              HasSubstr("the input has no spatial dimensions"));
}

TEST(Indexing, ColumnsThatDoNotFit) {
  const auto columns = [](const std::vector<std::int64_t>& shape, const std::vector<std::int64_t>& image,
                          const std::vector<std::int64_t>& block,
                          const std::vector<ProtoMessage>& attributes = {}) {
    return refusal(18, "Col2Im", {{zeros(shape)}, list(image), list(block)}, attributes);
  };
  EXPECT_EQ(columns({1, 2, 2}, {3}, {2}), "imported");
  for (const std::vector<std::int64_t>& shape : {std::vector<std::int64_t>{2, 2}, {1, 2, 2, 1}})
    EXPECT_THAT(columns(shape, {3}, {2}), HasSubstr("needs columns"));
  EXPECT_THAT(columns({1, 2, 2}, {3, 1}, {2}), HasSubstr("needs columns"));
  EXPECT_THAT(columns({1, 2, 2}, {3}, {2, 1}), HasSubstr("needs columns"));
  EXPECT_THAT(columns({1, 2, 2}, {}, {}), HasSubstr("needs columns"));
  EXPECT_THAT(columns({1, 2, 2}, {0}, {2}), HasSubstr("the value 0 is out of range"));
  EXPECT_THAT(columns({1, 2, 2}, {3}, {2}, {onnxInts("dilations", {0})}), HasSubstr("out of range"));
  EXPECT_THAT(columns({1, 2, 2}, {3}, {2}, {onnxInts("pads", {-1, 0})}), HasSubstr("out of range"));
  EXPECT_THAT(columns({1, 4, 2}, {3}, {4}), HasSubstr("the block is larger than the padded image"));
  EXPECT_THAT(columns({1, 2, 3}, {3}, {2}), HasSubstr("the columns do not fit"));
  EXPECT_THAT(columns({1, 3, 2}, {3}, {2}), HasSubstr("the columns do not fit"));
}

TEST(Generator, RangesMustBeKnown) {
  EXPECT_THAT(refusal(11, "Range", {{floats({}, {0})}, {floats({}, {4})}, {floats({}, {1})}}),
              HasSubstr("must be known at compile time"));
}

}  // namespace
}  // namespace kiln
