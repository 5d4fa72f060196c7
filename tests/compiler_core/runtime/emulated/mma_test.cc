// Tensor-core steps against a plain product of matrices. The fragments are taken from the figures of the PTX
// ISA by element, the other way round than the implementation does.
#include "compiler_core/runtime/emulated/mma.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>

namespace kiln::emulated {
namespace {

// Small integers, which every type holds exactly.
float a(int row, int k) {
  return static_cast<float>((row * 5 + k * 3) % 13 - 6);
}
float b(int k, int column) {
  return static_cast<float>((k * 7 + column * 2) % 11 - 5);
}
float c(int row, int column) {
  return static_cast<float>(row * 8 + column) + 0.5f;
}

std::uint32_t bf16(float value) {
  return std::bit_cast<std::uint32_t>(value) >> 16;
}
std::uint32_t f16(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  if (value == 0) return 0;
  return (bits >> 16 & 0x8000u) | ((bits >> 23 & 0xff) - 112) << 10 | (bits >> 13 & 0x3ffu);
}
std::uint32_t tf32(float value) {
  return std::bit_cast<std::uint32_t>(value) | 0x1abcu;  // the low bits must not count
}

// Where element (row, k) of A, (k, column) of B and (row, column) of C live.
struct Slot {
  int lane, reg, half;
};
Slot slotA(std::uint32_t kind, int row, int k) {
  if (kind == KILN_COLLECTIVE_MMA_TF32_M16N8K8) return {row % 8 * 4 + k % 4, row / 8 + 2 * (k / 4), 0};
  return {row % 8 * 4 + k % 8 / 2, row / 8 + 2 * (k / 8), k % 2};
}
Slot slotB(std::uint32_t kind, int k, int column) {
  if (kind == KILN_COLLECTIVE_MMA_TF32_M16N8K8) return {column * 4 + k % 4, 4 + k / 4, 0};
  return {column * 4 + k % 8 / 2, 4 + k / 8, k % 2};
}
Slot slotC(int row, int column) {
  return {row % 8 * 4 + column / 2, column % 2 + 2 * (row / 8), 0};
}

class Mma : public testing::TestWithParam<std::uint32_t> {};

TEST_P(Mma, IsTheProductOfTheMatrices) {
  const std::uint32_t kind = GetParam();
  const bool single = kind == KILN_COLLECTIVE_MMA_TF32_M16N8K8;
  const int depth = single ? 8 : 16;
  std::uint32_t in[kWarp][KILN_COLLECTIVE_MMA_INPUTS] = {}, out[kWarp][KILN_COLLECTIVE_MMA_OUTPUTS] = {};
  const auto put = [&](Slot slot, float value) {
    const std::uint32_t bits = single                                     ? tf32(value)
                               : kind == KILN_COLLECTIVE_MMA_F16_M16N8K16 ? f16(value)
                                                                          : bf16(value);
    in[slot.lane][slot.reg] |= bits << (16 * slot.half);
  };
  for (int row = 0; row < 16; ++row)
    for (int k = 0; k < depth; ++k) put(slotA(kind, row, k), a(row, k));
  for (int k = 0; k < depth; ++k)
    for (int column = 0; column < 8; ++column) put(slotB(kind, k, column), b(k, column));
  for (int row = 0; row < 16; ++row)
    for (int column = 0; column < 8; ++column)
      in[slotC(row, column).lane][6 + slotC(row, column).reg] = std::bit_cast<std::uint32_t>(c(row, column));
  WarpFragments warp;
  for (std::uint32_t lane = 0; lane < kWarp; ++lane) {
    warp.in[lane] = in[lane];
    warp.out[lane] = out[lane];
  }
  ASSERT_TRUE(multiplyAccumulate(kind, warp));
  for (int row = 0; row < 16; ++row) {
    for (int column = 0; column < 8; ++column) {
      float expected = c(row, column);
      for (int k = 0; k < depth; ++k) expected += a(row, k) * b(k, column);
      const Slot slot = slotC(row, column);
      EXPECT_EQ(std::bit_cast<float>(out[slot.lane][slot.reg]), expected) << row << ", " << column;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Kinds, Mma,
                         testing::Values(KILN_COLLECTIVE_MMA_F16_M16N8K16, KILN_COLLECTIVE_MMA_BF16_M16N8K16,
                                         KILN_COLLECTIVE_MMA_TF32_M16N8K8));

// One element of A times 1, the rest 0.
float f16Product(std::uint32_t bits) {
  std::uint32_t in[kWarp][KILN_COLLECTIVE_MMA_INPUTS] = {}, out[kWarp][KILN_COLLECTIVE_MMA_OUTPUTS] = {};
  in[0][0] = bits;
  in[0][4] = 0x3c00;
  WarpFragments warp;
  for (std::uint32_t lane = 0; lane < kWarp; ++lane) warp.in[lane] = in[lane], warp.out[lane] = out[lane];
  EXPECT_TRUE(multiplyAccumulate(KILN_COLLECTIVE_MMA_F16_M16N8K16, warp));
  return std::bit_cast<float>(out[0][0]);
}

TEST(Mma, ReadsEveryKindOfF16) {
  EXPECT_EQ(f16Product(0x3c00), 1.0f);
  EXPECT_EQ(f16Product(0x7bff), 65504.0f);
  EXPECT_EQ(f16Product(0x0001), 0x1p-24f);
  EXPECT_EQ(f16Product(0x83ff), -0x1.ff8p-15f);
  EXPECT_EQ(f16Product(0xfc00), -INFINITY);
  EXPECT_TRUE(std::isnan(f16Product(0x7e00)));
}

}  // namespace
}  // namespace kiln::emulated
