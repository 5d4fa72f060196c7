// Texts in .npy files, and as the numbers that a program computes with.
#include "compiler_core/runtime/npy/text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "compiler_core/runtime/batch/texts.h"
#include "compiler_core/runtime/npy/header.h"

namespace kiln::npy {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<std::uint8_t> file(std::string_view descr, const std::vector<std::int64_t>& shape,
                               std::string_view data) {
  const std::string header = headerFor(descr, shape);
  std::vector<std::uint8_t> bytes(header.begin(), header.end());
  bytes.insert(bytes.end(), data.begin(), data.end());
  return bytes;
}

std::string refusal(const std::vector<std::uint8_t>& bytes) {
  const auto parsed = parseTexts(Bytes(bytes));
  return parsed ? "read" : parsed.error().message;
}

// One element of `str` per code point.
std::string ucs(const std::vector<std::uint32_t>& points) {
  return {reinterpret_cast<const char*>(points.data()), points.size() * 4};
}

TEST(NpyText, ComesBackAsItWas) {
  for (const TextArray& array :
       {TextArray{{3}, {"", "abc", "Zürich"}}, TextArray{{2, 1}, {"\U0001F525 kiln", "\u4e16\u754c"}},
        TextArray{{}, {"one"}}, TextArray{{0}, {}}, TextArray{{1}, {""}}}) {
    const auto bytes = serialise(array);
    EXPECT_TRUE(holdsTexts(Bytes(bytes)));
    const auto parsed = parseTexts(Bytes(bytes));
    ASSERT_TRUE(parsed) << parsed.error().message;
    EXPECT_EQ(*parsed, array);
  }
}

TEST(NpyText, IsReadAsNumPyWritesIt) {
  EXPECT_THAT(parseTexts(Bytes(file("<U2", {2}, ucs({'a', 0, 0xfc, 'b'}))))->texts,
              ElementsAre("a", "\u00fcb"));
  EXPECT_THAT(parseTexts(Bytes(file("|S3", {2}, std::string_view("ab\0cde", 6))))->texts,
              ElementsAre("ab", "cde"));
  EXPECT_THAT(parseTexts(Bytes(file("<U0", {2}, "")))->texts, ElementsAre("", ""));
}

TEST(NpyText, WhatIsNoTextIsRefused) {
  EXPECT_FALSE(holdsTexts(Bytes(file("<f4", {1}, "1234"))));
  EXPECT_FALSE(holdsTexts(asBytes("not a file")));
  EXPECT_THAT(refusal(file("<f4", {1}, "1234")), HasSubstr("is no text"));
  EXPECT_THAT(refusal(file("|O", {1}, "12345678")), HasSubstr("is no text"));
  EXPECT_THAT(refusal(file(">U1", {1}, "1234")), HasSubstr("big-endian"));
  EXPECT_THAT(refusal(file("<U1", {1}, ucs({0xd800}))), HasSubstr("no Unicode text")) << "a surrogate";
  EXPECT_THAT(refusal(file("<U1", {1}, ucs({0x110000}))), HasSubstr("no Unicode text"));
  EXPECT_THAT(refusal(file("<U3", {1}, ucs({'a', 0, 'b'}))), HasSubstr("no Unicode text")) << "a zero inside";
  EXPECT_THAT(refusal(file("|S1", {1}, "\xff")), HasSubstr("no Unicode text"));
}

TEST(NpyText, SizesAreCheckedBeforeAnythingIsMade) {
  EXPECT_THAT(refusal(file("<U2", {2}, ucs({'a', 'b'}))), HasSubstr("not what its header announces"));
  EXPECT_THAT(refusal(file("<U4611686018427387904", {1}, "")), HasSubstr("has no length"));
  EXPECT_THAT(refusal(file("<Ux", {1}, "")), HasSubstr("has no length"));
  EXPECT_THAT(refusal(file("<U1", {std::int64_t{1} << 40, std::int64_t{1} << 40}, "")),
              HasSubstr("does not fit 64 bits"));
  EXPECT_THAT(refusal(file("<U0", {std::int64_t{1} << 40}, "")), HasSubstr("without a byte"));
}

TEST(Texts, AreTheirPlacesInTheTableAndBack) {
  const std::vector<std::string> table = {"", "blue", "red"};
  const Tensor numbers = runtime::numbersOf({{2, 2}, {"red", "", "green", "blue"}}, table);
  EXPECT_EQ(numbers.dtype, DType::kI64);
  EXPECT_THAT(numbers.shape, ElementsAre(2, 2));
  const auto* values = reinterpret_cast<const std::int64_t*>(numbers.data.data());
  EXPECT_THAT(std::vector<std::int64_t>(values, values + 4), ElementsAre(2, 0, -1, 1));
  const Tensor known = runtime::numbersOf({{2}, {"blue", "red"}}, table);
  EXPECT_THAT(runtime::textsOf(known, table)->texts, ElementsAre("blue", "red"));
  // What a program gives that its manifest has no text for is the artifact's fault.
  EXPECT_EQ(runtime::textsOf(numbers, table).error().code, Code::kDataLoss);
  EXPECT_EQ(runtime::textsOf(known, {"blue"}).error().code, Code::kDataLoss);
}

}  // namespace
}  // namespace kiln::npy
