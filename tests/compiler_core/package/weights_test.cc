#include "compiler_core/package/weights.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <numeric>
#include <sstream>

#include "compiler_core/package/files.h"
#include "tests/support/temp_directory.h"

namespace kiln::package {
namespace {

std::vector<std::uint8_t> bytes(std::size_t count) {
  std::vector<std::uint8_t> values(count);
  for (std::size_t i = 0; i < count; ++i) values[i] = static_cast<std::uint8_t>(i);
  return values;
}

class Weights : public ::testing::Test {
 protected:
  testing_support::TempDirectory temporary_;
  std::string directory_ = temporary_.path();
};

TEST_F(Weights, PermutedIsATransposeOfTheRightWidth) {
  ir::WeightTable table;
  table.addOwned("w", DType::kI16, {2, 3}, bytes(12));
  auto result = permuted(*table.find(0), {1, 0});
  ASSERT_TRUE(result);
  EXPECT_EQ(*result, (std::vector<std::uint8_t>{0, 1, 6, 7, 2, 3, 8, 9, 4, 5, 10, 11}));
}

TEST_F(Weights, PermutedInThreeDimensions) {
  ir::WeightTable table;
  table.addOwned("w", DType::kU8, {2, 3, 4}, bytes(24));
  auto result = permuted(*table.find(0), {2, 0, 1});
  ASSERT_TRUE(result);
  for (std::size_t a = 0; a < 4; ++a)
    for (std::size_t b = 0; b < 2; ++b)
      for (std::size_t c = 0; c < 3; ++c) EXPECT_EQ((*result)[(a * 2 + b) * 3 + c], b * 12 + c * 4 + a);
}

// Blocks, rows and dimensions that lie together are ways of the same copy: all of them give what its
// definition says.
TEST_F(Weights, PermutedIsItsDefinition) {
  const std::vector<std::vector<std::int64_t>> shapes = {
      {70, 45}, {1, 33, 1, 40}, {5, 3, 34, 7}, {6, 1}, {2, 2, 2, 2, 3}};
  for (const DType dtype : {DType::kI8, DType::kF16, DType::kF32, DType::kF64}) {
    const std::size_t width = dtypeBytes(dtype);
    for (const std::vector<std::int64_t>& shape : shapes) {
      std::size_t elements = 1;
      for (const std::int64_t extent : shape) elements *= static_cast<std::size_t>(extent);
      ir::WeightTable table;
      std::vector<std::uint8_t> data(elements * width);
      for (std::size_t i = 0; i < data.size(); ++i)
        data[i] = static_cast<std::uint8_t>(i * 2654435761u >> 13);
      table.addOwned("w", dtype, shape, data);
      std::vector<std::int64_t> permutation(shape.size());
      std::iota(permutation.begin(), permutation.end(), 0);
      do {
        const auto result = permuted(*table.find(0), permutation);
        ASSERT_TRUE(result);
        for (std::size_t i = 0; i < elements; ++i) {
          std::vector<std::size_t> index(shape.size());
          for (std::size_t dim = shape.size(), rest = i; dim-- > 0;
               rest /= static_cast<std::size_t>(shape[permutation[dim]]))
            index[permutation[dim]] = rest % static_cast<std::size_t>(shape[permutation[dim]]);
          std::size_t source = 0;
          for (std::size_t dim = 0; dim < shape.size(); ++dim)
            source = source * static_cast<std::size_t>(shape[dim]) + index[dim];
          ASSERT_TRUE(std::equal(data.begin() + source * width, data.begin() + (source + 1) * width,
                                 result->begin() + i * width))
              << "element " << i;
        }
      } while (std::ranges::next_permutation(permutation).found);
    }
  }
}

TEST_F(Weights, WhatIsNoPermutationIsRefused) {
  ir::WeightTable table;
  table.addOwned("w", DType::kF32, {2, 3}, bytes(24));
  for (const std::vector<std::int64_t>& wrong : {std::vector<std::int64_t>{0}, {0, 0}, {0, 2}, {-1, 0}}) {
    auto result = permuted(*table.find(0), wrong);
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().code, Code::kInternal);
  }
  table.addOwned("short", DType::kF32, {2, 3}, bytes(20));
  EXPECT_FALSE(permuted(*table.find(1), {1, 0}));
}

TEST_F(Weights, InPanelsTheRowsOfNeighbouringColumnsLieBehindEachOther) {
  ir::WeightTable table;
  table.addOwned("w", DType::kU8, {2, 5}, bytes(10));  // 0 1 2 3 4 / 5 6 7 8 9
  WeightUse use{.source = 0, .panelLanes = 2};
  auto result = laidOut(*table.find(0), use);
  ASSERT_TRUE(result);
  EXPECT_EQ(*result, (std::vector<std::uint8_t>{0, 1, 5, 6, 2, 3, 7, 8, 4, 0, 9, 0}));
  EXPECT_EQ(bytesOf(*table.find(0), use), result->size());
  // Of the transposed matrix, with elements of two bytes.
  table.addOwned("t", DType::kI16, {3, 2}, bytes(12));  // 0 2 / 4 6 / 8 10, by their first bytes
  use = {.source = 1, .permutation = {1, 0}, .panelLanes = 2};
  result = laidOut(*table.find(1), use);
  ASSERT_TRUE(result);
  EXPECT_EQ(*result, (std::vector<std::uint8_t>{0, 1, 4, 5, 2, 3, 6, 7, 8, 9, 0, 0, 10, 11, 0, 0}));
  EXPECT_EQ(bytesOf(*table.find(1), use), result->size());
}

TEST_F(Weights, InPanelsColumnsAreTheLastOfAnyNumberOfDimensions) {
  ir::WeightTable table;
  table.addOwned("w", DType::kU8, {4, 3, 2}, bytes(24));
  const WeightUse use{.source = 0, .permutation = {1, 2, 0}, .panelLanes = 2};
  const auto result = laidOut(*table.find(0), use);
  ASSERT_TRUE(result);
  EXPECT_EQ(*result, (std::vector<std::uint8_t>{0,  6,  1,  7,  2,  8,  3,  9,  4,  10, 5,  11,
                                                12, 18, 13, 19, 14, 20, 15, 21, 16, 22, 17, 23}));
  EXPECT_EQ(bytesOf(*table.find(0), use), result->size());
}

TEST_F(Weights, PackedDotOperandsHoldStepsOfADimension) {
  ir::WeightTable table;
  table.addOwned("w", DType::kI8, {5, 2}, bytes(10));  // 0 1 / 2 3 / 4 5 / 6 7 / 8 9
  WeightUse use{.source = 0, .dotPacking = DotPacking{0, 4}};
  auto result = laidOut(*table.find(0), use);
  ASSERT_TRUE(result);
  EXPECT_EQ(*result, (std::vector<std::uint8_t>{0, 2, 4, 6, 1, 3, 5, 7, 8, 0, 0, 0, 9, 0, 0, 0}));
  EXPECT_EQ(bytesOf(*table.find(0), use), result->size());
  // Panels of packed dot operands.
  use.panelLanes = 1;
  result = laidOut(*table.find(0), use);
  ASSERT_TRUE(result);
  EXPECT_EQ(*result, (std::vector<std::uint8_t>{0, 2, 4, 6, 8, 0, 0, 0, 1, 3, 5, 7, 9, 0, 0, 0}));
  EXPECT_EQ(bytesOf(*table.find(0), use), result->size());
  EXPECT_EQ(laidOut(*table.find(0), {.source = 0, .dotPacking = DotPacking{2, 4}}).error().code,
            Code::kInternal);
  EXPECT_EQ(laidOut(*table.find(0), {.source = 0, .dotPacking = DotPacking{0, 2}}).error().code,
            Code::kInternal);
}

TEST_F(Weights, WhatIsNoMatrixHasNoPanels) {
  ir::WeightTable table;
  table.addOwned("w", DType::kU8, {}, bytes(1));
  EXPECT_EQ(laidOut(*table.find(0), {.source = 0, .panelLanes = 2}).error().code, Code::kInternal);
  table.addOwned("short", DType::kF32, {2, 3}, bytes(20));
  EXPECT_EQ(laidOut(*table.find(1), {.source = 1, .panelLanes = 2}).error().code, Code::kInternal);
}

// [results][channels][3][3] whose number at `at` is one, all others zero.
std::vector<std::uint8_t> one(std::size_t windows, std::size_t at) {
  std::vector<float> numbers(windows * 9, 0);
  numbers[at] = 1;
  const auto* first = reinterpret_cast<const std::uint8_t*>(numbers.data());
  return {first, first + numbers.size() * sizeof(float)};
}

TEST_F(Weights, AsWinogradsPointsPanelsOfResultsHaveThePointsOfAllChannels) {
  // Four results of two channels, the middle of the window of result 3 and channel 1.
  ir::WeightTable table;
  table.addOwned("w", DType::kF32, {4, 2, 3, 3}, one(8, 7 * 9 + 4));
  const std::vector<std::vector<float>> middle = {{0, 0.5F, -0.5F, 0},
                                                  {0, -1 / 6.F, 1 / 6.F, 1 / 12.F, -1 / 12.F, 0}};
  for (const std::int64_t m : {2, 4}) {
    const WeightUse use{.source = 0, .panelLanes = 2, .filterTransform = m};
    const auto result = laidOut(*table.find(0), use);
    ASSERT_TRUE(result);
    const std::int64_t side = m + 2;
    ASSERT_EQ(result->size(), static_cast<std::size_t>(8 * side * side) * sizeof(float));
    EXPECT_EQ(bytesOf(*table.find(0), use), result->size());
    const auto* numbers = reinterpret_cast<const float*>(result->data());
    const std::vector<float>& points = middle[m == 4];
    for (std::int64_t panel = 0; panel < 2; ++panel)
      for (std::int64_t i = 0; i < side; ++i)
        for (std::int64_t j = 0; j < side; ++j)
          for (std::int64_t channel = 0; channel < 2; ++channel)
            for (std::int64_t lane = 0; lane < 2; ++lane) {
              const bool isThere = panel == 1 && channel == 1 && lane == 1;
              EXPECT_FLOAT_EQ(*numbers++, isThere ? points[i] * points[j] : 0) << m << ": " << i << ", " << j;
            }
  }
}

TEST_F(Weights, WinogradTransformsTheEntryAsTheProgramTransposesIt) {
  ir::WeightTable table;
  table.addOwned("w", DType::kF32, {2, 3, 3, 1}, one(2, 9 + 5));
  table.addOwned("transposed", DType::kF32, {1, 3, 3, 2}, one(2, 5 * 2 + 1));
  const auto plain = laidOut(
      *table.find(0), {.source = 0, .permutation = {0, 3, 1, 2}, .panelLanes = 2, .filterTransform = 4});
  const auto transposed = laidOut(
      *table.find(1), {.source = 1, .permutation = {3, 0, 1, 2}, .panelLanes = 2, .filterTransform = 4});
  ASSERT_TRUE(plain && transposed);
  EXPECT_EQ(*plain, *transposed);
}

TEST_F(Weights, WhatIsNoFilterIsNotTransformed) {
  ir::WeightTable table;
  table.addOwned("w", DType::kF32, {4, 2, 3, 3}, one(8, 0));
  table.addOwned("matrix", DType::kF32, {4, 18}, one(8, 0));
  table.addOwned("large", DType::kF32, {4, 2, 3, 4}, bytes(384));
  for (const WeightUse& use : {WeightUse{.source = 0, .panelLanes = 3, .filterTransform = 2},
                               {.source = 0, .panelLanes = 2, .filterTransform = 3},
                               {.source = 1, .panelLanes = 2, .filterTransform = 2},
                               {.source = 2, .panelLanes = 2, .filterTransform = 2}})
    EXPECT_EQ(laidOut(*table.find(use.source), use).error().code, Code::kInternal);
}

TEST_F(Weights, OneFilePerUseInOrder) {
  ir::WeightTable table;
  table.addOwned("first", DType::kF32, {2}, bytes(8));
  table.addOwned("second", DType::kF32, {1, 2}, bytes(8));
  auto files = writeWeights(table, {{1, {1, 0}}, {0, {}}, {1, {}}}, directory_);
  ASSERT_TRUE(files) << files.error().message;
  ASSERT_EQ(files->size(), 3u);
  EXPECT_EQ((*files)[0].path, "weights/0000.bin");
  EXPECT_EQ((*files)[0].name, "second");
  EXPECT_EQ((*files)[1].name, "first");
  for (const WeightFile& file : *files) {
    auto digest = digestOfFile(directory_ + "/" + file.path);
    ASSERT_TRUE(digest);
    EXPECT_EQ(*digest, file.digest);
  }
}

TEST_F(Weights, AUseBeyondTheTableIsRefused) {
  auto files = writeWeights(ir::WeightTable(), {{3, {}}}, directory_);
  ASSERT_FALSE(files);
  EXPECT_NE(files.error().message.find("3"), std::string::npos);
}

TEST_F(Weights, AFullDiskIsAnErrorThatNamesThePath) {
  if (!std::filesystem::exists("/dev/full")) GTEST_SKIP() << "no /dev/full here";
  auto written = writeFile("/dev/full", bytes(100));
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().code, Code::kResourceExhausted);
  EXPECT_NE(written.error().message.find("/dev/full"), std::string::npos);
}

}  // namespace
}  // namespace kiln::package
