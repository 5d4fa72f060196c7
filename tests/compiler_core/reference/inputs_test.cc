#include "compiler_core/reference/inputs.h"

#include <gtest/gtest.h>

namespace kiln::reference {
namespace {

// Values computed from the written description by another program: they freeze version 1.
TEST(Inputs, VersionOneIsFrozen) {
  ASSERT_EQ(kInputGeneratorVersion, 1);
  HostTensor image = makeInput("image", DType::kF32, {2, 2}, 0);
  const float expected[4] = {0.38353145122528076f, 0.8967562913894653f, 0.2625701427459717f,
                             -0.900388240814209f};
  for (int i = 0; i < 4; ++i) EXPECT_EQ(image.data<float>()[i], expected[i]) << i;
  HostTensor ids = makeInput("ids", DType::kI64, {6}, 0);
  const std::int64_t numbers[6] = {4, 5, 3, 3, 2, 2};
  for (int i = 0; i < 6; ++i) EXPECT_EQ(ids.data<std::int64_t>()[i], numbers[i]) << i;
  HostTensor mask = makeInput("mask", DType::kBool, {8}, 7);
  EXPECT_EQ(mask.bytes, (std::vector<std::uint8_t>{0, 1, 0, 0, 0, 1, 0, 0}));
}

TEST(Inputs, NameAndSeedMatter) {
  auto bytes = [](std::string_view name, std::uint64_t seed) {
    return makeInput(name, DType::kF64, {16}, seed).bytes;
  };
  EXPECT_EQ(bytes("a", 1), bytes("a", 1));
  EXPECT_NE(bytes("a", 1), bytes("b", 1));
  EXPECT_NE(bytes("a", 1), bytes("a", 2));
}

TEST(Inputs, FloatsStayInRange) {
  HostTensor tensor = makeInput("x", DType::kF32, {100000}, 3);
  double sum = 0;
  for (std::int64_t i = 0; i < tensor.elements(); ++i) {
    float value = tensor.data<float>()[i];
    EXPECT_TRUE(value >= -1 && value < 1);
    sum += value;
  }
  EXPECT_NEAR(sum / 100000, 0, 0.01);
}

}  // namespace
}  // namespace kiln::reference
