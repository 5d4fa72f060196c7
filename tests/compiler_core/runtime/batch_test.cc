#include "compiler_core/runtime/batch/batch.h"

#include <gtest/gtest.h>

#include <cstring>

namespace kiln::runtime {
namespace {

template <class T>
npy::Tensor tensor(DType dtype, std::vector<std::int64_t> shape, const std::vector<T>& values) {
  npy::Tensor out{dtype, std::move(shape), std::vector<std::uint8_t>(values.size() * sizeof(T))};
  if (!values.empty()) std::memcpy(out.data.data(), values.data(), out.data.size());
  return out;
}
npy::Tensor floats(std::vector<std::int64_t> shape, const std::vector<float>& values) {
  return tensor(DType::kF32, std::move(shape), values);
}

TEST(Batch, AnInputIsGivenByTheLongestNameThatFits) {
  const std::vector<TensorSpec> inputs{{"a", DType::kF32, {}, {}}, {"a=b", DType::kF32, {}, {}}};
  EXPECT_EQ(givenInput("a=x.npy", inputs), &inputs[0]);
  EXPECT_EQ(givenInput("a=b.npy", inputs), &inputs[0]);
  EXPECT_EQ(givenInput("a=b=x.npy", inputs), &inputs[1]);
  EXPECT_EQ(givenInput("a", inputs), nullptr);
  EXPECT_EQ(givenInput("b=x.npy", inputs), nullptr);
}

TEST(Batch, ALeadingAxisStandsBeforeOrTakesThePlaceOfOne) {
  const TensorSpec image{"image", DType::kF32, {1, 2}, {"1", "2"}};
  const auto instead = floats({3, 2}, {0, 1, 2, 3, 4, 5}), before = floats({3, 1, 2}, {0, 1, 2, 3, 4, 5});
  for (const auto& given : {instead, before}) {
    EXPECT_EQ(*countEach(image, given), 3u);
    EXPECT_EQ(elementOf(image, given, 1), floats({1, 2}, {2, 3}));
  }
  for (const auto& given : {floats({3, 3}, std::vector<float>(9)), floats({2}, {0, 1}), floats({}, {0}),
                            tensor<std::int32_t>(DType::kI32, {3, 2}, std::vector<std::int32_t>(6))}) {
    EXPECT_FALSE(countEach(image, given));
  }
  const TensorSpec scalar{"k", DType::kF32, {}, {}};
  EXPECT_EQ(*countEach(scalar, floats({4}, {0, 1, 2, 3})), 4u);
  EXPECT_EQ(elementOf(scalar, floats({4}, {0, 1, 2, 3}), 2), floats({}, {2}));
}

TEST(Batch, ASymbolTakesAnySizeAndIsOneInEachRun) {
  const TensorSpec rows{"x", DType::kF32, {-1, 2}, {"N", "2"}};
  const auto three = floats({3, 2}, {0, 1, 2, 3, 4, 5});
  EXPECT_EQ(describe(rows), "f32 [N,2]");
  EXPECT_TRUE(checkInput(rows, three));
  EXPECT_FALSE(checkInput(rows, floats({2, 3}, {0, 1, 2, 3, 4, 5})));
  EXPECT_EQ(*countEach(rows, three), 3u);
  EXPECT_EQ(elementOf(rows, three, 1), floats({1, 2}, {2, 3}));
  EXPECT_EQ(elementOf(rows, floats({1, 3, 2}, {0, 1, 2, 3, 4, 5}), 0), three);
}

TEST(Batch, OutputsStackAlongTheirOwnLeadingOneOrANewAxis) {
  npy::Tensor rows, blocks, scalars;
  for (int i = 0; i < 2; ++i) {
    const auto value = static_cast<float>(i);
    EXPECT_TRUE(stack(rows, floats({1, 2}, {value, value}), 2));
    EXPECT_TRUE(stack(blocks, floats({2, 1}, {value, value}), 2));
    EXPECT_TRUE(stack(scalars, floats({}, {value}), 2));
  }
  EXPECT_EQ(stack(rows, floats({1, 3}, {0, 0, 0}), 3).error().code, Code::kInvalidArgument);
  EXPECT_EQ(stack(rows, floats({2, 2}, {0, 0, 0, 0}), 3).error().code, Code::kInvalidArgument);
  EXPECT_EQ(rows, floats({2, 2}, {0, 0, 1, 1}));
  EXPECT_EQ(blocks, floats({2, 2, 1}, {0, 0, 1, 1}));
  EXPECT_EQ(scalars, floats({2}, {0, 1}));
}

TEST(Batch, ARunWithoutElementsCountsAsOne) {
  npy::Tensor found, none;
  EXPECT_TRUE(stack(found, floats({0}, {}), 2));
  EXPECT_EQ(stack(found, floats({3}, {1, 2, 3}), 2).error().code, Code::kInvalidArgument);
  EXPECT_TRUE(stack(none, floats({0}, {}), 2));
  EXPECT_TRUE(stack(none, floats({0}, {}), 2));
  EXPECT_EQ(none, floats({2, 0}, {}));
}

TEST(Batch, PredictionsAreTheLargestOfEachRow) {
  EXPECT_EQ(*predictions(floats({2, 3}, {0, 2, 1, 5, 5, 4})), (std::vector<std::int64_t>{1, 0}));
  EXPECT_EQ(*predictions(tensor<std::int8_t>(DType::kI8, {1, 2}, {-3, -2})), (std::vector<std::int64_t>{1}));
  EXPECT_TRUE(predictions(floats({2, 0}, {}))->empty());
}

TEST(Batch, HalfPrecisionValues) {
  const auto half = tensor<std::uint16_t>(DType::kF16, {4}, {0x3c00, 0xc000, 0x0001, 0x7c00});
  EXPECT_EQ(valueAt(half, 0), 1.0);
  EXPECT_EQ(valueAt(half, 1), -2.0);
  EXPECT_EQ(valueAt(half, 2), 5.9604644775390625e-08);
  EXPECT_EQ(valueAt(half, 3), std::numeric_limits<double>::infinity());
  EXPECT_EQ(valueAt(tensor<std::uint16_t>(DType::kBF16, {1}, {0x4040}), 0), 3.0);
}

TEST(Batch, LabelsAreIntegers) {
  EXPECT_EQ(*labelsOf(tensor<std::uint8_t>(DType::kU8, {2}, {7, 9})), (std::vector<std::int64_t>{7, 9}));
  EXPECT_EQ(labelsOf(floats({1}, {1})).error().code, Code::kInvalidArgument);
}

}  // namespace
}  // namespace kiln::runtime
