#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "compiler_core/frontend/parameters/formats.h"
#include "tests/compiler_core/frontend/parameters/file_writers.h"

namespace kiln::parameters {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using namespace testing_support;

Result<Tensors> read(const std::string& file) {
  return readSafetensors(asBytes(file), nullptr);
}
void expectError(const std::string& file, const std::string& part, Code code = Code::kInvalidArgument) {
  const auto found = read(file);
  ASSERT_FALSE(found) << part;
  EXPECT_EQ(found.error().code, code) << found.error().message;
  EXPECT_THAT(found.error().message, HasSubstr(part));
}

const std::string kTwo =
    "{" + safetensorsEntry("b", "F32", "2,1", 0, 8) + "," + safetensorsEntry("a", "I64", "", 8, 16) + "}";
const std::string kData(16, 'd');

TEST(SafetensorsTest, ReadsTensorsInTheOrderOfTheirData) {
  const std::string file = safetensors(kTwo, kData);
  const auto found = read(file);
  ASSERT_TRUE(found) << found.error().message;
  ASSERT_EQ(found->size(), 2u);
  EXPECT_EQ((*found)[0].name, "b");
  EXPECT_EQ((*found)[0].dtype, DType::kF32);
  EXPECT_THAT((*found)[0].shape, ElementsAre(2, 1));
  EXPECT_EQ(reinterpret_cast<const char*>((*found)[0].bytes.data()), file.data() + 8 + kTwo.size());
  EXPECT_EQ((*found)[1].name, "a");
  EXPECT_THAT((*found)[1].shape, IsEmpty());
  EXPECT_EQ((*found)[1].bytes.size(), 8u);
}

TEST(SafetensorsTest, ReadsMetadataPaddingAndEmptyTensors) {
  const std::string header = "{\"__metadata__\":{\"format\":\"pt\"}," +
                             safetensorsEntry("e", "BF16", "0,7", 0, 0) + "," +
                             safetensorsEntry("a", "BF16", "1", 0, 2) + "}      ";
  const auto found = read(safetensors(header, "xy"));
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_EQ((*found)[0].name, "e");
  EXPECT_EQ((*found)[1].bytes.size(), 2u);
}

TEST(SafetensorsTest, KnowsEveryType) {
  const std::pair<const char*, DType> types[] = {{"F64", DType::kF64},        {"F32", DType::kF32},
                                                 {"F16", DType::kF16},        {"BF16", DType::kBF16},
                                                 {"I64", DType::kI64},        {"I32", DType::kI32},
                                                 {"I16", DType::kI16},        {"I8", DType::kI8},
                                                 {"U64", DType::kU64},        {"U32", DType::kU32},
                                                 {"U16", DType::kU16},        {"U8", DType::kU8},
                                                 {"BOOL", DType::kBool},      {"F8_E4M3", DType::kF8E4M3FN},
                                                 {"F8_E5M2", DType::kF8E5M2}, {"F8_E8M0", DType::kF8E8M0FNU}};
  for (const auto& [name, dtype] : types) {
    const std::size_t bytes = dtypeBytes(dtype);
    const auto found =
        read(safetensors("{" + safetensorsEntry("a", name, "1", 0, bytes) + "}", std::string(bytes, 1)));
    ASSERT_TRUE(found) << name;
    EXPECT_EQ((*found)[0].dtype, dtype) << name;
  }
  expectError(safetensors("{" + safetensorsEntry("a", "C64", "1", 0, 8) + "}", kData.substr(8)),
              "tensor \"a\": element type \"C64\" is not served", Code::kUnimplemented);
}

TEST(SafetensorsTest, RefusesEveryBeginning) {
  const std::string file = safetensors(kTwo, kData);
  for (std::size_t length = 0; length < file.size(); ++length)
    ASSERT_FALSE(read(file.substr(0, length))) << length;
  expectError(file.substr(0, file.size() - 1), "it is truncated");
  expectError(file.substr(0, 20), "it is truncated");
}

TEST(SafetensorsTest, SurvivesEveryFlippedByte) {
  const std::string file = safetensors(kTwo, kData);
  int refused = 0;
  for (std::size_t i = 0; i < file.size() - kData.size(); ++i) {
    for (const int flip : {0x01, 0x10, 0x80}) {
      std::string other = file;
      other[i] = static_cast<char>(other[i] ^ flip);
      refused += !read(other);
    }
  }
  EXPECT_GT(refused, 100);
}

TEST(SafetensorsTest, RefusesGapsOverlapsAndWhatIsLeft) {
  const auto two = [](std::size_t begin) {
    return "{" + safetensorsEntry("a", "U8", "8", 0, 8) + "," +
           safetensorsEntry("b", "U8", "4", begin, begin + 4) + "}";
  };
  EXPECT_TRUE(read(safetensors(two(8), std::string(12, 'x'))));
  expectError(safetensors(two(7), std::string(12, 'x')),
              "tensor \"b\": its data begin at 7, inside of another's");
  expectError(safetensors(two(0), std::string(8, 'x')), "inside of another's");
  expectError(safetensors(two(9), std::string(13, 'x')), "tensor \"b\": its data begin at 9, behind a gap");
  expectError(safetensors(two(8), std::string(15, 'x')), "3 bytes behind the last tensor");
}

TEST(SafetensorsTest, RefusesWrongEntries) {
  const auto one = [](const std::string& shape, std::size_t begin, std::size_t end) {
    return safetensors("{" + safetensorsEntry("a", "F32", shape, begin, end) + "}", std::string(8, 'x'));
  };
  expectError(one("3", 0, 8), "its shape takes 12 bytes, its offsets are 8 apart");
  expectError(one("2", 8, 0), "no beginning and end");
  expectError(one("2", 4, 12), "its data end at 12, the file holds 8");
  expectError(one("-2", 0, 8), "no list of at most 64 sizes");
  expectError(one("2.0", 0, 8), "no list of at most 64 sizes");
  expectError(one("18446744073709551615", 0, 8), "no list of at most 64 sizes");
  // 2^62 times 4 times 4 is 2^66, which is 0 in 64 bits.
  expectError(one("4611686018427387904,4", 0, 0), "does not fit 64 bits");
  std::string many = "1";
  for (int i = 0; i < 64; ++i) many += ",1";
  expectError(one(many, 0, 4), "no list of at most 64 sizes");
  expectError(safetensors("{\"a\":{\"dtype\":\"F32\",\"shape\":[]}}", ""), "it has other members");
  expectError(safetensors("{\"a\":7}", ""), "it has other members");
  expectError(safetensors("{\"a\":{\"dtype\":7,\"shape\":[],\"data_offsets\":[0,4]}}", "1234"),
              "\"dtype\" is no name");
  expectError(safetensors("{\"__metadata__\":{\"a\":1}}", ""), "no object of texts");
}

TEST(SafetensorsTest, RefusesWrongHeaders) {
  expectError(littleEndianText(~std::uint64_t{0}, 8) + kTwo, "at most 32 MiB");
  expectError(safetensors("[]", ""), "its header is no JSON object");
  expectError(safetensors("{" + safetensorsEntry("a", "U8", "1", 0, 1) + "," +
                              safetensorsEntry("a", "U8", "1", 1, 2) + "}",
                          "xy"),
              "duplicate member");
  expectError(safetensors("{\"a\":" + std::string(100'000, '['), ""), "nesting deeper than 3");
  expectError(safetensors("{\"\":{\"dtype\":\"U8\",\"shape\":[],\"data_offsets\":[0,1]}}", "x"),
              "its name is no UTF-8");
  const std::string longName(5000, 'n');
  expectError(safetensors("{" + safetensorsEntry(longName, "U8", "1", 0, 1) + "}", "x"),
              "of 1 to 4096 bytes");
}

TEST(SafetensorsTest, RefusesBooleansThatAreNone) {
  expectError(safetensors("{" + safetensorsEntry("a", "BOOL", "2", 0, 2) + "}", std::string("\1\2", 2)),
              "tensor \"a\": element 1 is no bool");
}

}  // namespace
}  // namespace kiln::parameters
