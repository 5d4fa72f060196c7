#include "compiler_core/runtime/element/element.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

namespace kiln::runtime {
namespace {

long double value(DType dtype, std::uint16_t code) {
  std::uint8_t bytes[8] = {static_cast<std::uint8_t>(code & 0xff), static_cast<std::uint8_t>(code >> 8)};
  return elementValue(dtype, bytes);
}

// The corner codes that the formats' specifications list.
TEST(Element, SmallFloats) {
  EXPECT_EQ(value(DType::kF8E4M3FN, 0x7e), 448);
  EXPECT_EQ(value(DType::kF8E4M3FN, 0x08), 0x1p-6);
  EXPECT_EQ(value(DType::kF8E4M3FN, 0x01), 0x1p-9);
  EXPECT_EQ(value(DType::kF8E4M3FN, 0xb8), -1);
  EXPECT_EQ(value(DType::kF8E4M3FN, 0x78), 256) << "the largest exponent holds numbers";
  EXPECT_EQ(value(DType::kF8E4M3FNUZ, 0x7f), 240);
  EXPECT_EQ(value(DType::kF8E4M3FNUZ, 0x01), 0x1p-10);
  EXPECT_EQ(value(DType::kF8E5M2, 0x7b), 57344);
  EXPECT_EQ(value(DType::kF8E5M2, 0x01), 0x1p-16);
  EXPECT_EQ(value(DType::kF8E5M2, 0xfc), -HUGE_VALL);
  EXPECT_EQ(value(DType::kF8E5M2FNUZ, 0x7f), 57344);
  EXPECT_EQ(value(DType::kF8E5M2FNUZ, 0x01), 0x1p-17);
  EXPECT_EQ(value(DType::kF8E8M0FNU, 0x00), std::ldexp(1.0L, -127));
  EXPECT_EQ(value(DType::kF8E8M0FNU, 0x7f), 1);
  EXPECT_EQ(value(DType::kF8E8M0FNU, 0xfe), std::ldexp(1.0L, 127));
  for (const auto& [dtype, code] : {std::pair{DType::kF8E4M3FN, 0x7f},
                                    {DType::kF8E4M3FN, 0xff},
                                    {DType::kF8E4M3FNUZ, 0x80},
                                    {DType::kF8E5M2, 0x7d},
                                    {DType::kF8E5M2FNUZ, 0x80},
                                    {DType::kF8E8M0FNU, 0xff},
                                    {DType::kF16, 0x7c01},
                                    {DType::kBF16, 0x7f81}}) {
    EXPECT_TRUE(std::isnan(value(dtype, static_cast<std::uint16_t>(code)))) << dtypeName(dtype);
  }
  const double f4[] = {0, 0.5, 1, 1.5, 2, 3, 4, 6};
  for (int code = 0; code < 16; ++code) {
    EXPECT_EQ(value(DType::kF4E2M1FN, static_cast<std::uint16_t>(code)), f4[code & 7] * (code < 8 ? 1 : -1));
  }
}

TEST(Element, HalvesAgreeWithTheProcessor) {
  for (unsigned code = 0; code < 0x10000; ++code) {
    const auto bits = static_cast<std::uint16_t>(code);
    _Float16 half;
    std::memcpy(&half, &bits, sizeof half);
    const std::uint32_t wide = code << 16;
    float brain;
    std::memcpy(&brain, &wide, sizeof brain);
    const long double got = value(DType::kF16, bits), gotBrain = value(DType::kBF16, bits);
    EXPECT_TRUE(got == static_cast<long double>(half) || (std::isnan(got) && half != half)) << code;
    EXPECT_TRUE(gotBrain == brain || (std::isnan(gotBrain) && std::isnan(brain))) << code;
  }
}

TEST(Element, Integers) {
  const std::uint64_t large = ~std::uint64_t{0};
  const auto* bytes = reinterpret_cast<const std::uint8_t*>(&large);
  EXPECT_EQ(elementValue(DType::kU64, bytes), 18446744073709551615.0L);
  for (const DType dtype : {DType::kI64, DType::kI32, DType::kI16, DType::kI8, DType::kI4, DType::kI2})
    EXPECT_EQ(elementValue(dtype, bytes), -1) << dtypeName(dtype);
  EXPECT_EQ(value(DType::kU4, 15), 15);
  EXPECT_TRUE(holdsIntegers(DType::kBool) && holdsIntegers(DType::kU2) && !holdsIntegers(DType::kF4E2M1FN));
}

TEST(Element, CodesOutsideTheirType) {
  const auto invalid = [](DType dtype) {
    int count = 0;
    for (int code = 0; code < 256; ++code) {
      const std::uint8_t byte[] = {static_cast<std::uint8_t>(code)};
      count += firstInvalidElement(dtype, byte) ? 1 : 0;
    }
    return count;
  };
  EXPECT_EQ(invalid(DType::kBool), 254);
  EXPECT_EQ(invalid(DType::kI2), 252);
  EXPECT_EQ(invalid(DType::kU2), 252);
  EXPECT_EQ(invalid(DType::kI4), 240);
  EXPECT_EQ(invalid(DType::kU4), 240);
  EXPECT_EQ(invalid(DType::kF4E2M1FN), 240);
  EXPECT_EQ(invalid(DType::kF8E5M2), 0);
  const std::uint8_t three[] = {0, 1, 2};
  EXPECT_EQ(firstInvalidElement(DType::kBool, three), 2u);
}

}  // namespace
}  // namespace kiln::runtime
