// Elementwise operations, conversions and bits, by value.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tests/compiler_core/frontend/stablehlo/run_program.h"

namespace kiln {
namespace {

using testing::ElementsAre;
using testing::FloatEq;
using testing::FloatNear;
using namespace testing_support;

constexpr float kInf = std::numeric_limits<float>::infinity();
const float kNaN = std::nanf("");

std::vector<float> unary(const std::string& operation, const std::vector<float>& values) {
  const std::string type = "tensor<" + std::to_string(values.size()) + "xf32>";
  return elementsOf<float>(
      runText(mainOf("%x: " + type, type, "%0 = " + operation + " %x : " + type + " return %0 : " + type),
              {floats({static_cast<std::int64_t>(values.size())}, values)}));
}

std::vector<std::int32_t> binary(const std::string& operation, const std::vector<std::int32_t>& a,
                                 const std::vector<std::int32_t>& b) {
  const auto count = static_cast<std::int64_t>(a.size());
  const std::string type = "tensor<" + std::to_string(count) + "xi32>";
  return elementsOf<std::int32_t>(
      runText(mainOf("%a: " + type + ", %b: " + type, type,
                     "%0 = stablehlo." + operation + " %a, %b : " + type + " return %0 : " + type),
              {ints({count}, a), ints({count}, b)}));
}

TEST(StablehloArithmetic, RoundsHalvesAwayFromZeroAndKeepsTheSignOfZero) {
  const auto got = unary("stablehlo.round_nearest_afz", {0.5f, -0.5f, 2.5f, -0.3f, 1.4f});
  EXPECT_THAT(got, ElementsAre(1, -1, 3, 0, 1));
  EXPECT_TRUE(std::signbit(got[3]));
}

TEST(StablehloArithmetic, CubeRootsOfNegativeNumbers) {
  EXPECT_THAT(unary("stablehlo.cbrt", {-27, 8, 0, kInf}), ElementsAre(FloatEq(-3), FloatEq(2), 0, kInf));
}

TEST(StablehloArithmetic, ErfcKeepsItsTail) {
  EXPECT_THAT(elementsOf<float>(runText(
                  mainOf("%x: tensor<2xf32>", "tensor<2xf32>",
                         "%0 = chlo.erfc %x : tensor<2xf32> -> tensor<2xf32> return %0 : tensor<2xf32>"),
                  {floats({2}, {0.5f, 4.0f})})),
              ElementsAre(FloatNear(0.47950012f, 1e-7f), FloatNear(1.5417258e-8f, 1e-14f)));
}

TEST(StablehloArithmetic, DivisionByZeroIsAsXlaHasIt) {
  EXPECT_THAT(binary("divide", {7, -7, 5, std::numeric_limits<int>::min()}, {2, 2, 0, -1}),
              ElementsAre(3, -3, -1, std::numeric_limits<int>::min()));
  EXPECT_THAT(binary("remainder", {7, -7, 5}, {4, 4, 0}), ElementsAre(3, -3, 5));
}

TEST(StablehloArithmetic, ShiftsByTheWidthOrMore) {
  EXPECT_THAT(binary("shift_left", {1, 1, 1}, {4, 32, -1}), ElementsAre(16, 0, 0));
  EXPECT_THAT(binary("shift_right_logical", {-1, -1}, {28, 40}), ElementsAre(15, 0));
  EXPECT_THAT(binary("shift_right_arithmetic", {-16, -16}, {2, 40}), ElementsAre(-4, -1));
}

TEST(StablehloArithmetic, ArithmeticOfBooleansIsLogic) {
  const auto got = runText(mainOf("%a: tensor<4xi1>, %b: tensor<4xi1>", "tensor<4xi1>, tensor<4xi1>",
                                  "%0 = stablehlo.add %a, %b : tensor<4xi1>\n"
                                  "%1 = stablehlo.multiply %a, %b : tensor<4xi1>\n"
                                  "return %0, %1 : tensor<4xi1>, tensor<4xi1>"),
                           {HostTensor::of<std::uint8_t>(DType::kBool, {4}, {0, 0, 1, 1}),
                            HostTensor::of<std::uint8_t>(DType::kBool, {4}, {0, 1, 0, 1})});
  EXPECT_THAT(elementsOf<std::uint8_t>(got, 0), ElementsAre(0, 1, 1, 1));
  EXPECT_THAT(elementsOf<std::uint8_t>(got, 1), ElementsAre(0, 0, 0, 1));
}

TEST(StablehloArithmetic, IntegersBelowAByteWrap) {
  const auto got = runText(mainOf("%a: tensor<2xi4>, %b: tensor<2xi4>", "tensor<2xi4>",
                                  "%0 = stablehlo.add %a, %b : tensor<2xi4> return %0 : tensor<2xi4>"),
                           {HostTensor::of<std::int8_t>(DType::kI4, {2}, {7, -8}),
                            HostTensor::of<std::int8_t>(DType::kI4, {2}, {1, -1})});
  EXPECT_THAT(elementsOf<std::int8_t>(got), ElementsAre(-8, 7));
}

TEST(StablehloArithmetic, TotalOrderTellsZerosAndNaNsApart) {
  const auto got = runText(
      mainOf(
          "%a: tensor<4xf32>, %b: tensor<4xf32>", "tensor<4xi1>",
          "%0 = stablehlo.compare LT, %a, %b, TOTALORDER : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>\n"
          "return %0 : tensor<4xi1>"),
      {floats({4}, {-0.0f, -kNaN, kInf, 2}), floats({4}, {0.0f, -kInf, kNaN, 1})});
  EXPECT_THAT(elementsOf<std::uint8_t>(got), ElementsAre(1, 1, 1, 0));
}

TEST(StablehloArithmetic, AngleOfAPointInEveryQuadrant) {
  const auto got = elementsOf<float>(
      runText(mainOf("%a: tensor<5xf32>, %b: tensor<5xf32>", "tensor<5xf32>",
                     "%0 = stablehlo.atan2 %a, %b : tensor<5xf32> return %0 : tensor<5xf32>"),
              {floats({5}, {1, 1, -1, 0, -kInf}), floats({5}, {1, -1, -1, -0.0f, -kInf})}));
  EXPECT_THAT(got, ElementsAre(FloatNear(0.78539816f, 1e-6f), FloatNear(2.3561945f, 1e-6f),
                               FloatNear(-2.3561945f, 1e-6f), FloatNear(3.1415927f, 1e-6f),
                               FloatNear(-2.3561945f, 1e-6f)));
}

TEST(StablehloArithmetic, CountsBits) {
  const auto got = runText(mainOf("%x: tensor<3xi32>", "tensor<3xi32>, tensor<3xi32>",
                                  "%0 = stablehlo.popcnt %x : tensor<3xi32>\n"
                                  "%1 = stablehlo.count_leading_zeros %x : tensor<3xi32>\n"
                                  "return %0, %1 : tensor<3xi32>, tensor<3xi32>"),
                           {ints({3}, {0, -1, 0x00f0})});
  EXPECT_THAT(elementsOf<std::int32_t>(got, 0), ElementsAre(0, 32, 4));
  EXPECT_THAT(elementsOf<std::int32_t>(got, 1), ElementsAre(32, 0, 24));
}

TEST(StablehloArithmetic, BitsOfWiderElementsLieBehind) {
  const auto got = runText(mainOf("%x: tensor<1xi32>", "tensor<1x2xi16>, tensor<1xi32>",
                                  "%0 = stablehlo.bitcast_convert %x : (tensor<1xi32>) -> tensor<1x2xi16>\n"
                                  "%1 = stablehlo.bitcast_convert %0 : (tensor<1x2xi16>) -> tensor<1xi32>\n"
                                  "return %0, %1 : tensor<1x2xi16>, tensor<1xi32>"),
                           {ints({1}, {0x00070005})});
  EXPECT_THAT(elementsOf<std::int16_t>(got, 0), ElementsAre(5, 7));
  EXPECT_THAT(elementsOf<std::int32_t>(got, 1), ElementsAre(0x00070005));
}

TEST(StablehloArithmetic, ReducedPrecisionRoundsToEvenAndOverflows) {
  const auto got = runText(mainOf("%x: tensor<3xf32>", "tensor<3xf32>",
                                  "%0 = stablehlo.reduce_precision %x, format = e5m10 : tensor<3xf32>\n"
                                  "return %0 : tensor<3xf32>"),
                           {floats({3}, {1.00048828125f, 70000.0f, 1e-6f})});
  EXPECT_THAT(elementsOf<float>(got), ElementsAre(1.0f, kInf, 0.0f));
}

TEST(StablehloArithmetic, ThreefryIsExact) {
  // Two words of the key {0, 0} at the counter 0, the first vector of Random123's known answers.
  const auto got = runText(mainOf("%s: tensor<2xui64>", "tensor<2xui64>, tensor<ui64>",
                                  "%0, %1 = stablehlo.rng_bit_generator %s, algorithm = THREE_FRY : "
                                  "(tensor<2xui64>) -> (tensor<2xui64>, "
                                  "tensor<ui64>)\nreturn %0, %1 : tensor<2xui64>, tensor<ui64>"),
                           {HostTensor::of<std::uint64_t>(DType::kU64, {2}, {0, 0})});
  EXPECT_THAT(elementsOf<std::uint64_t>(got, 0), ElementsAre(0, 1));
  EXPECT_THAT(elementsOf<std::uint64_t>(got, 1), ElementsAre(0x99ba4efe6b200159u));
}

}  // namespace
}  // namespace kiln
