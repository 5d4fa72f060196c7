#include "manifest/spec/pin.h"

#include <gtest/gtest.h>

#include <cstring>

namespace kiln {
namespace {

TEST(Pin, NumbersHaveOneForm) {
  for (const char* text : {"0", "-1", "9223372036854775807", "-9223372036854775808", "0.5", "-0", "1e+20"}) {
    auto value = parsePin(text);
    ASSERT_TRUE(value) << text;
    EXPECT_EQ(pinText(*value), text);
  }
  EXPECT_EQ(parsePin("2.0"), PinValue(std::int64_t{2}));
  EXPECT_EQ(parsePin("1e3"), PinValue(std::int64_t{1000}));
  for (const char* text : {"", " 1", "1 ", "0x10", "nan", "inf", "1e999", "+1", "1,2"})
    EXPECT_FALSE(parsePin(text)) << text;
}

TEST(Pin, OptionText) {
  Pins pins;
  ASSERT_TRUE(addPin("axes=1,-2", pins));
  ASSERT_TRUE(addPin("a=b=0.5", pins));
  ASSERT_TRUE(addPin("none=", pins));
  EXPECT_EQ(pins, (Pins{{"axes", {1, -2}}, {"a=b", {0.5}}, {"none", {}}}));
  EXPECT_FALSE(addPin("axes=3", pins));
  for (const char* text : {"axes", "=1", "x=1,", "x=,1", "x=1;2"}) EXPECT_FALSE(addPin(text, pins)) << text;
}

TEST(Pin, NamesAreUtf8) {
  Pins pins;
  const auto added = addPin("\xe4=1", pins);
  ASSERT_FALSE(added);
  EXPECT_EQ(added.error().message.find("--pin ?=1: the input's name is no UTF-8"), 0u);
}

TEST(Pin, BytesOfAType) {
  const std::vector<PinValue> values = {std::int64_t{-1}, std::int64_t{127}};
  auto bytes = pinBytes(DType::kI8, values);
  ASSERT_TRUE(bytes);
  EXPECT_EQ(*bytes, (std::vector<std::uint8_t>{0xff, 0x7f}));
  EXPECT_EQ(pinValues(DType::kI8, bytes->data(), 2), values);
  const std::vector<PinValue> reals = {0.1, std::int64_t{2}};
  auto floats = pinBytes(DType::kF32, reals);
  ASSERT_TRUE(floats);
  float first = 0;
  std::memcpy(&first, floats->data(), sizeof first);
  EXPECT_EQ(first, 0.1f);
}

TEST(Pin, NarrowFloats) {
  const std::vector<PinValue> values = {0.5, std::int64_t{-2}};
  for (DType dtype : {DType::kF16, DType::kBF16, DType::kF8E5M2}) {
    auto bytes = pinBytes(dtype, values);
    ASSERT_TRUE(bytes);
    EXPECT_EQ(pinValues(dtype, bytes->data(), 2), values);
  }
  auto half = pinBytes(DType::kF16, values);
  ASSERT_TRUE(half);
  EXPECT_EQ(*half, (std::vector<std::uint8_t>{0x00, 0x38, 0x00, 0xc0}));
}

TEST(Pin, WhatATypeCannotHold) {
  const auto refused = [](DType dtype, PinValue value) {
    const auto bytes = pinBytes(dtype, std::vector<PinValue>{std::int64_t{1}, value});
    return bytes ? std::string() : bytes.error().message;
  };
  EXPECT_EQ(refused(DType::kI8, std::int64_t{128}), "value 1 (128) is no i8");
  EXPECT_EQ(refused(DType::kU64, std::int64_t{-1}), "value 1 (-1) is no u64");
  EXPECT_EQ(refused(DType::kBool, std::int64_t{2}), "value 1 (2) is no bool");
  EXPECT_EQ(refused(DType::kI64, 0.5), "value 1 (0.5) is no i64");
  EXPECT_EQ(refused(DType::kF32, 1e300), "value 1 (1e+300) is no f32");
  EXPECT_EQ(refused(DType::kF16, 1e5 + 0.5), "value 1 (100000.5) is no f16");
  EXPECT_NE(refused(DType::kI4, std::int64_t{1}).find("cannot be pinned"), std::string::npos);
}

}  // namespace
}  // namespace kiln
