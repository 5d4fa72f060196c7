#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "compiler_core/frontend/parameters/formats.h"
#include "tests/compiler_core/frontend/parameters/file_writers.h"

namespace kiln::parameters {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using namespace testing_support;

Result<Tensors> read(const std::string& file) {
  return readGguf(asBytes(file), nullptr);
}
void expectError(const std::string& file, const std::string& part, Code code = Code::kInvalidArgument) {
  const auto found = read(file);
  ASSERT_FALSE(found) << part;
  EXPECT_EQ(found.error().code, code) << found.error().message;
  EXPECT_THAT(found.error().message, HasSubstr(part));
}

constexpr std::uint64_t kF32 = 0, kBF16 = 30;

// Keys of every kind: a text, a number, arrays of texts, of numbers and of arrays.
const std::string kKeys =
    ggufText("general.architecture") + littleEndianText(8, 4) + ggufText("llama") + ggufText("a.count") +
    littleEndianText(10, 4) + littleEndianText(7, 8) + ggufText("tokens") + littleEndianText(9, 4) +
    littleEndianText(8, 4) + littleEndianText(2, 8) + ggufText("one") + ggufText("two") + ggufText("scores") +
    littleEndianText(9, 4) + littleEndianText(6, 4) + littleEndianText(3, 8) + std::string(12, 's') +
    ggufText("nested") + littleEndianText(9, 4) + littleEndianText(9, 4) + littleEndianText(1, 8) +
    littleEndianText(0, 4) + littleEndianText(2, 8) + "xy";
const std::vector<GgufTensor> kTwo = {{"late", {3, 2}, kBF16, 32}, {"early", {2}, kF32, 0}};
const std::string kData = bytesOfNumbers<float>({1, 2}) + std::string(24, '\0') + std::string(12, 'h');

TEST(GgufTest, ReadsTensorsInTheOrderOfTheirData) {
  for (const std::uint64_t version : {2, 3}) {
    const std::string file = gguf(kTwo, kData, kKeys, 5, version);
    const auto found = read(file);
    ASSERT_TRUE(found) << found.error().message;
    ASSERT_EQ(found->size(), 2u);
    EXPECT_EQ((*found)[0].name, "early");
    EXPECT_EQ((*found)[0].dtype, DType::kF32);
    EXPECT_EQ((*found)[0].bytes.size(), 8u);
    EXPECT_EQ((*found)[1].name, "late");
    EXPECT_EQ((*found)[1].dtype, DType::kBF16);
    EXPECT_THAT((*found)[1].shape, ElementsAre(2, 3));
    EXPECT_EQ(std::string((*found)[1].bytes.begin(), (*found)[1].bytes.end()), std::string(12, 'h'));
  }
}

TEST(GgufTest, FollowsTheAlignment) {
  const std::string key = ggufText("general.alignment") + littleEndianText(4, 4);
  EXPECT_TRUE(read(gguf({{"a", {2}, kF32, 8}}, std::string(16, 'x'), key + littleEndianText(8, 4), 1)));
  expectError(gguf({{"a", {2}, kF32, 8}}, std::string(16, 'x')),
              "tensor \"a\": its data at 8 are not aligned to 32");
  for (const std::uint64_t wrong : {0, 4, 12, 0x7fffffff})
    expectError(gguf({}, "", key + littleEndianText(wrong, 4), 1),
                "\"general.alignment\" is " + std::to_string(wrong));
  expectError(gguf({}, "", ggufText("general.alignment") + littleEndianText(0, 4) + "x", 1), "is no uint32");
}

TEST(GgufTest, RefusesQuantisedBlocksByName) {
  const std::pair<std::uint64_t, const char*> types[] = {
      {2, "Q4_0"}, {8, "Q8_0"}, {12, "Q4_K"}, {39, "MXFP4"}};
  for (const auto& [type, name] : types)
    expectError(gguf({{"blk.0.w", {32}, type, 0}}, kData),
                "tensor \"blk.0.w\": blocks quantised as " + std::string(name) + " are not served",
                Code::kUnimplemented);
  expectError(gguf({{"a", {32}, 4000, 0}}, kData), "element type 4000 is not known", Code::kUnimplemented);
}

TEST(GgufTest, RefusesEveryBeginning) {
  const std::string file = gguf(kTwo, kData, kKeys, 5);
  for (std::size_t length = 4; length < file.size(); ++length)
    ASSERT_FALSE(read(file.substr(0, length))) << length;
}

TEST(GgufTest, SurvivesEveryFlippedByte) {
  const std::string file = gguf(kTwo, kData, kKeys, 5);
  int refused = 0;
  for (std::size_t i = 4; i < file.size(); ++i) {
    for (const int flip : {0x01, 0x80, 0xff}) {
      std::string other = file;
      other[i] = static_cast<char>(other[i] ^ flip);
      refused += !read(other);
    }
  }
  EXPECT_GT(refused, 100);
}

TEST(GgufTest, RefusesOverlapsAndWhatIsNotThere) {
  expectError(gguf({{"a", {16}, kF32, 0}, {"b", {1}, kF32, 32}}, std::string(64, 'x')),
              "tensor \"b\": its data at 32 are another's too");
  expectError(gguf({{"a", {16}, kF32, 0}, {"b", {16}, kF32, 0}}, std::string(64, 'x')), "are another's too");
  expectError(gguf({{"a", {17}, kF32, 0}}, std::string(64, 'x')), "end behind the file");
  expectError(gguf({{"a", {1}, kF32, std::uint64_t{1} << 63}}, std::string(64, 'x')), "end behind the file");
  expectError(gguf({{"a", {1}, kF32, 0}, {"a", {1}, kF32, 32}}, std::string(64, 'x')),
              "the name stands there twice");
}

TEST(GgufTest, RefusesShapesThatOverflow) {
  const std::uint64_t large = std::uint64_t{1} << 62;
  expectError(gguf({{"a", {large, 4}, kF32, 0}}, ""), "does not fit 64 bits");
  expectError(gguf({{"a", {~std::uint64_t{0}}, kF32, 0}}, ""), "does not fit 64 bits");
  expectError(gguf({{"a", std::vector<std::uint64_t>(65, 1), kF32, 0}}, kData), "65 dimensions");
}

TEST(GgufTest, RefusesCountsThatTheFileCannotHold) {
  const std::string version = "GGUF" + littleEndianText(3, 4);
  expectError(version + littleEndianText(~std::uint64_t{0}, 8) + littleEndianText(0, 8),
              "at most a million each");
  expectError(version + littleEndianText(0, 8) + littleEndianText(2'000'000, 8), "at most a million each");
  expectError(version + littleEndianText(1'000'000, 8) + littleEndianText(0, 8),
              "byte 24: 8 bytes are not there");
  const std::string array = ggufText("k") + littleEndianText(9, 4);
  for (const std::uint64_t element : {0, 8, 9, 12})
    expectError(
        gguf({}, "", array + littleEndianText(element, 4) + littleEndianText(~std::uint64_t{0}, 8), 1),
        "cannot hold the array's elements");
  expectError(gguf({}, "", ggufText("k") + littleEndianText(13, 4), 1),
              "no type of a value has the number 13");
  std::string nested = array;
  for (int i = 0; i < 1000; ++i) nested += littleEndianText(9, 4) + littleEndianText(1, 8);
  expectError(gguf({}, "", nested, 1), "nested deeper than 4");
}

TEST(GgufTest, RefusesOtherVersions) {
  expectError(gguf({}, "", "", 0, 1), "GGUF version 1", Code::kUnimplemented);
  expectError(gguf({}, "", "", 0, 4), "GGUF version 4", Code::kUnimplemented);
  expectError(gguf({}, "", "", 0, 0x03000000), "big-endian", Code::kUnimplemented);
}

}  // namespace
}  // namespace kiln::parameters
