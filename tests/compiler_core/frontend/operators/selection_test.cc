// Operators that choose elements by value, and running sums.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "compiler_core/ir/profile.h"
#include "tests/compiler_core/frontend/run_model.h"

namespace kiln {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using namespace testing_support;

std::vector<std::int64_t> longsOf(const HostTensor& tensor) {
  return {tensor.data<std::int64_t>(), tensor.data<std::int64_t>() + tensor.elements()};
}

// One node on input x, with further inputs as initialisers.
std::vector<HostTensor> outputs(std::int64_t opset, const std::string& op, const HostTensor& x,
                                const std::vector<ProtoMessage>& attributes, std::vector<int> types,
                                const std::vector<ProtoMessage>& constants = {}) {
  OnnxBuilder model(opset);
  model.input("x", {x.shape.begin(), x.shape.end()}, x.dtype == DType::kI64 ? kOnnxInt64 : kOnnxFloat);
  std::vector<std::string> inputs{"x"}, results;
  for (std::size_t i = 0; i < constants.size(); ++i) {
    inputs.push_back("c" + std::to_string(i));
    model.initializer(constants[i]);
  }
  for (std::size_t i = 0; i < types.size(); ++i) {
    results.push_back("y" + std::to_string(i));
    model.output(results.back(), types[i]);
  }
  model.node(op, inputs, results, attributes);
  auto result = run(model, {x});
  EXPECT_TRUE(result) << (result ? "" : result.error().message);
  return result ? *result : std::vector<HostTensor>(types.size());
}

TEST(Selection, ArgMaxOfEqualsAndAxes) {
  const HostTensor x = floats({2, 3}, {1, 5, 5, 7, 7, 2});
  auto arg = [&](std::string op, std::vector<ProtoMessage> attributes, std::int64_t opset = 13) {
    return outputs(opset, op, x, attributes, {kOnnxInt64})[0];
  };
  EXPECT_THAT(longsOf(arg("ArgMax", {onnxInt("axis", 1)})), ElementsAre(1, 0));
  EXPECT_THAT(longsOf(arg("ArgMax", {onnxInt("axis", -1), onnxInt("select_last_index", 1)})),
              ElementsAre(2, 1));
  EXPECT_THAT(longsOf(arg("ArgMin", {}, 6)), ElementsAre(0, 0, 1));
  EXPECT_THAT(arg("ArgMin", {}, 6).shape, ElementsAre(1, 3));
  EXPECT_THAT(arg("ArgMax", {onnxInt("keepdims", 0), onnxInt("axis", 1)}).shape, ElementsAre(2));
}

TEST(Selection, TopKOfEveryVersion) {
  const HostTensor x = floats({2, 4}, {3, 1, 4, 1, 5, 9, 2, 6});
  auto old = outputs(9, "TopK", x, {onnxInt("k", 2)}, {kOnnxFloat, kOnnxInt64});
  EXPECT_THAT(floatsOf(old[0]), ElementsAre(4, 3, 9, 6));
  EXPECT_THAT(longsOf(old[1]), ElementsAre(2, 0, 1, 3));
  const auto k = onnxTensor("c0", {1}, std::vector<std::int64_t>{3});
  auto smallest = outputs(11, "TopK", x, {onnxInt("largest", 0)}, {kOnnxFloat, kOnnxInt64}, {k});
  EXPECT_THAT(floatsOf(smallest[0]), ElementsAre(1, 1, 3, 2, 5, 6));
  EXPECT_THAT(longsOf(smallest[1]), ElementsAre(1, 3, 0, 2, 0, 3));  // equals by position
  auto first = outputs(24, "TopK", x, {onnxInt("axis", 0)}, {kOnnxFloat, kOnnxInt64},
                       {onnxTensor("c0", {1}, std::vector<std::int64_t>{1})});
  EXPECT_THAT(floatsOf(first[0]), ElementsAre(5, 9, 4, 6));
  EXPECT_THAT(first[1].shape, ElementsAre(1, 4));
}

TEST(Selection, RunningSums) {
  const HostTensor x = floats({4}, {1, 2, 3, 4});
  auto sum = [&](std::vector<ProtoMessage> attributes, std::string op = "CumSum", std::int64_t opset = 14) {
    return floatsOf(outputs(opset, op, x, attributes, {kOnnxFloat},
                            {onnxTensor("c0", {}, std::vector<std::int64_t>{-1})})[0]);
  };
  EXPECT_THAT(sum({}), ElementsAre(1, 3, 6, 10));
  EXPECT_THAT(sum({onnxInt("exclusive", 1)}), ElementsAre(0, 1, 3, 6));
  EXPECT_THAT(sum({onnxInt("reverse", 1)}), ElementsAre(10, 9, 7, 4));
  EXPECT_THAT(sum({onnxInt("reverse", 1), onnxInt("exclusive", 1)}), ElementsAre(9, 7, 4, 0));
  EXPECT_THAT(sum({onnxInt("exclusive", 1)}, "CumProd", 26), ElementsAre(1, 1, 2, 6));
}

TEST(Selection, HardmaxBeforeAndAfterVersion13) {
  const HostTensor x = floats({1, 2, 2}, {1, 3, 3, 2});
  EXPECT_THAT(floatsOf(outputs(13, "Hardmax", x, {}, {kOnnxFloat})[0]), ElementsAre(0, 1, 1, 0));
  EXPECT_THAT(floatsOf(outputs(11, "Hardmax", x, {}, {kOnnxFloat})[0]), ElementsAre(0, 1, 0, 0));
}

// Sizes found out at run time.
TEST(Selection, NonZeroFindsItsSize) {
  const HostTensor x = floats({2, 3}, {0, 1, 0, -2, 0, 3});
  const HostTensor found = outputs(13, "NonZero", x, {}, {kOnnxInt64})[0];
  EXPECT_THAT(found.shape, ElementsAre(2, 3));
  EXPECT_THAT(longsOf(found), ElementsAre(0, 1, 1, 1, 0, 2));
}

TEST(Selection, UniqueSharesOneSize) {
  const HostTensor x = floats({6}, {2, 1, 1, 3, 4, 3});
  const std::vector<int> types{kOnnxFloat, kOnnxInt64, kOnnxInt64, kOnnxInt64};
  auto sorted = outputs(11, "Unique", x, {}, types);
  EXPECT_THAT(floatsOf(sorted[0]), ElementsAre(1, 2, 3, 4));
  EXPECT_THAT(longsOf(sorted[1]), ElementsAre(1, 0, 3, 4));
  EXPECT_THAT(longsOf(sorted[2]), ElementsAre(1, 0, 0, 2, 3, 2));
  EXPECT_THAT(longsOf(sorted[3]), ElementsAre(2, 1, 2, 1));
  auto first = outputs(11, "Unique", x, {onnxInt("sorted", 0)}, types);
  EXPECT_THAT(floatsOf(first[0]), ElementsAre(2, 1, 3, 4));
  EXPECT_THAT(longsOf(first[3]), ElementsAre(1, 2, 2, 1));
  auto rows = outputs(11, "Unique", floats({3, 2}, {1, 0, 0, 9, 1, 0}), {onnxInt("axis", 0)}, types);
  EXPECT_THAT(rows[0].shape, ElementsAre(2, 2));
  EXPECT_THAT(floatsOf(rows[0]), ElementsAre(0, 9, 1, 0));
}

// Its size is no question that a run answers.
TEST(Selection, OfNothingNothingIsChosen) {
  OnnxBuilder positions(13), chosen(11);
  positions.input("x", {0, 2}).output("y", kOnnxInt64).node("NonZero", {"x"}, {"y"});
  chosen.input("x", {2}).input("c", {0}, kOnnxBool).output("y").node("Compress", {"x", "c"}, {"y"});
  for (const OnnxBuilder* model : {&positions, &chosen}) {
    const auto made = import(model->build());
    ASSERT_TRUE(made) << made.error().message;
    EXPECT_EQ(ir::symbolCount(*(*made)->captured.module), 0u);
  }
  const HostTensor none = HostTensor::of(DType::kBool, {0}, std::vector<std::uint8_t>());
  const auto result = run(chosen, {floats({2}, {1, 2}), none});
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_THAT(result->at(0).shape, ElementsAre(0));
}

TEST(Selection, WrongUses) {
  const auto errorOf = [](const std::string& op, const std::vector<ProtoMessage>& attributes,
                          std::int64_t opset, const std::vector<ProtoMessage>& constants) {
    OnnxBuilder model(opset);
    model.input("x", {2, 3}).output("y");
    std::vector<std::string> inputs{"x"};
    for (const ProtoMessage& constant : constants) {
      inputs.push_back("c" + std::to_string(inputs.size() - 1));
      model.initializer(constant);
    }
    auto imported = import(model.node(op, inputs, {"y"}, attributes).build());
    return imported ? std::string("imported") : imported.error().message;
  };
  EXPECT_THAT(errorOf("TopK", {}, 11, {onnxTensor("c0", {1}, std::vector<std::int64_t>{4})}),
              HasSubstr("k is 4 for a dimension of 3"));
  EXPECT_THAT(errorOf("ArgMax", {onnxInt("axis", 2)}, 13, {}), HasSubstr("axis 2 is outside rank 2"));
  EXPECT_THAT(errorOf("CumSum", {}, 14, {onnxTensor("c0", {}, std::vector<std::int64_t>{-3})}),
              HasSubstr("axis -3 is outside rank 2"));
}

}  // namespace
}  // namespace kiln
