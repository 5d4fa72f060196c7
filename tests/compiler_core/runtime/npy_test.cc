#include "compiler_core/runtime/npy/npy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <filesystem>
#include <random>

namespace kiln::npy {
namespace {

using testing::HasSubstr;

// A version 1.0 file with this dictionary and data.
std::vector<std::uint8_t> file(std::string header, std::string data, int major = 1) {
  std::string bytes = "\x93NUMPY";
  bytes += static_cast<char>(major);
  bytes += '\0';
  bytes += static_cast<char>(header.size() & 0xff);
  bytes += static_cast<char>(header.size() >> 8);
  if (major >= 2) bytes += std::string(2, '\0');
  bytes += header + data;
  return {bytes.begin(), bytes.end()};
}

std::string errorOf(const std::vector<std::uint8_t>& bytes) {
  const auto tensor = parse(bytes);
  return tensor ? "accepted" : std::string(codeName(tensor.error().code)) + ": " + tensor.error().message;
}

TEST(Npy, RoundTripsEveryType) {
  for (int i = 0; i <= static_cast<int>(DType::kU2); ++i) {
    const auto type = static_cast<DType>(i);
    Tensor tensor{type, {2, 3}, std::vector<std::uint8_t>(6 * dtypeBytes(type))};
    for (std::size_t k = 0; k < tensor.data.size(); ++k) tensor.data[k] = static_cast<std::uint8_t>(k % 2);
    if (type == DType::kI4 || type == DType::kI2) tensor.data[1] = 0xfe;
    const auto bytes = serialise(tensor);
    EXPECT_EQ((bytes.size() - tensor.data.size()) % 64, 0u);
    const auto back = parse(bytes, type);
    ASSERT_TRUE(back) << back.error().message;
    EXPECT_EQ(*back, tensor) << dtypeName(type);
  }
}

// What numpy.save wrote of ml_dtypes.int4 [-1, -8, 7].
TEST(Npy, OpaqueBytesAreWhatTheManifestSays) {
  const auto int4 =
      file("{'descr': '<V1', 'fortran_order': False, 'shape': (3,), }", std::string("\x0f\x08\x07", 3));
  EXPECT_EQ(parse(int4, DType::kI4)->data, (std::vector<std::uint8_t>{0xff, 0xf8, 0x07}));
  EXPECT_EQ(parse(int4, DType::kU4)->data, (std::vector<std::uint8_t>{15, 8, 7}));
  EXPECT_EQ(parse(int4, DType::kF8E4M3FN)->dtype, DType::kF8E4M3FN);
  EXPECT_EQ(errorOf(int4),
            "UNIMPLEMENTED: opaque elements of one byte, whose type only an artifact's manifest tells");
  const auto i8 = parse(int4, DType::kI8);
  ASSERT_FALSE(i8);
  EXPECT_EQ(i8.error().message, "opaque elements of one byte where i8 is expected");
  EXPECT_EQ(parse(int4, DType::kI2).error().message, "element 0 is no i2");
  // ml_dtypes names this one in a way that NumPy does not read.
  const auto e5m2 = file("{'descr': '<f1', 'fortran_order': False, 'shape': (1,), }", "\x7b");
  EXPECT_EQ(parse(e5m2)->dtype, DType::kF8E5M2);
  // A type that says what it is stays what it is.
  const auto bytes = file("{'descr': '|u1', 'fortran_order': False, 'shape': (1,), }", "\x01");
  EXPECT_EQ(parse(bytes, DType::kU4)->dtype, DType::kU8);
}

TEST(Npy, RoundTripsEveryRank) {
  for (const auto& shape : std::vector<std::vector<std::int64_t>>{{}, {5}, {0}, {1, 1, 5}, {2, 0, 3}}) {
    std::size_t count = 1;
    for (const auto dim : shape) count *= static_cast<std::size_t>(dim);
    const Tensor tensor{DType::kI16, shape, std::vector<std::uint8_t>(2 * count, 7)};
    EXPECT_EQ(*parse(serialise(tensor)), tensor);
  }
}

TEST(Npy, WritesWhatNumpyWrites) {
  const auto bytes = serialise({DType::kF32, {3}, std::vector<std::uint8_t>(12)});
  const std::string text(bytes.begin() + 10, bytes.begin() + 128);
  EXPECT_THAT(text, testing::StartsWith("{'descr': '<f4', 'fortran_order': False, 'shape': (3,), }  "));
  EXPECT_EQ(text.back(), '\n');
  EXPECT_EQ(bytes[8] + 256 * bytes[9], 118);
}

TEST(Npy, ReadsOtherWritersHabits) {
  const auto tensor = parse(file("{\"shape\":(2L,),\"fortran_order\":False,\"descr\":\"<i1\"}\n", "ab", 2));
  ASSERT_TRUE(tensor) << tensor.error().message;
  EXPECT_EQ(tensor->dtype, DType::kI8);
  EXPECT_EQ(tensor->shape, std::vector<std::int64_t>{2});
}

TEST(Npy, RefusesByName) {
  const std::string tail = "'fortran_order': False, 'shape': (1,), }";
  EXPECT_THAT(errorOf(file("{'descr': '>f4', " + tail, "abcd")),
              HasSubstr("UNIMPLEMENTED: element type '>f4' is big-endian"));
  EXPECT_THAT(errorOf(file("{'descr': '|O', " + tail, "abcd")),
              HasSubstr("element type '|O' is not supported"));
  EXPECT_THAT(errorOf(file("{'descr': [('a', '<f4')], " + tail, "abcd")), HasSubstr("structured"));
  EXPECT_THAT(errorOf(file("{'descr': '<f4', 'fortran_order': True, 'shape': (1,), }", "abcd")),
              HasSubstr("Fortran order"));
  EXPECT_THAT(errorOf(file("{'descr': '<f4', " + tail, "abcd", 3)), HasSubstr("version 3.0"));
  EXPECT_THAT(errorOf(file("{'descr': '|b1', " + tail, "\2")), HasSubstr("element 0 is no bool"));
}

TEST(Npy, RefusesMalformedFiles) {
  const std::string start = "{'descr': '<f4', 'fortran_order': False, 'shape': ";
  EXPECT_THAT(errorOf({}), HasSubstr("does not start with"));
  EXPECT_THAT(errorOf(file(start + "(1,), }", "abc")),
              HasSubstr("holds 3 bytes of data, its header announces 4"));
  EXPECT_THAT(errorOf(file(start + "(1,), }", "abcde")), HasSubstr("holds 5 bytes"));
  EXPECT_THAT(errorOf(file(start + "(9007199254740992, 9007199254740992), }", "")),
              HasSubstr("does not fit 64 bits"));
  EXPECT_THAT(errorOf(file(start + "(9007199254740993,), }", "")), HasSubstr("no size from 0 to 2^53"));
  EXPECT_THAT(errorOf(file(start + "(-1,), }", "")), HasSubstr("no size"));
  EXPECT_THAT(errorOf(file(start + "(1 2), }", "")), HasSubstr("no tuple of sizes"));
  EXPECT_THAT(errorOf(file(start + "(1,)} x", "abcd")), HasSubstr("text after"));
  EXPECT_THAT(errorOf(file(start + "(1,), 'shape': (1,)}", "abcd")),
              HasSubstr("repeated or unknown entry 'shape'"));
  EXPECT_THAT(errorOf(file("{'descr': '<f4', 'shape': (1,)}", "abcd")), HasSubstr("lacks"));
  std::string deep = start + "(";
  for (int i = 0; i < 65; ++i) deep += "1,";
  EXPECT_THAT(errorOf(file(deep + "), }", "abcd")), HasSubstr("more than 64 dimensions"));
}

// Every truncation and many random changes of a good file: an error or a consistent tensor, never anything
// else.
TEST(Npy, SurvivesMutation) {
  const Tensor tensor{DType::kF32, {2, 3}, std::vector<std::uint8_t>(24, 1)};
  const auto good = serialise(tensor);
  for (std::size_t n = 0; n < good.size(); ++n) EXPECT_FALSE(parse(Bytes(good).first(n)));
  std::mt19937 random(1);
  for (int i = 0; i < 20000; ++i) {
    auto bad = good;
    for (int changes = 0; changes < 3; ++changes) bad[random() % 100] = static_cast<std::uint8_t>(random());
    if (const auto parsed = parse(bad)) {
      std::size_t count = dtypeBytes(parsed->dtype);
      for (const auto dim : parsed->shape) count *= static_cast<std::size_t>(dim);
      EXPECT_EQ(count, parsed->data.size());
    }
  }
}

TEST(Npy, Files) {
  const auto folder = std::filesystem::temp_directory_path() / ("kiln_npy_" + std::to_string(::getpid()));
  std::filesystem::create_directories(folder);
  const std::string path = (folder / "x.npy").string();
  const Tensor tensor{DType::kI64, {2}, std::vector<std::uint8_t>(16, 3)};
  ASSERT_TRUE(write(path, tensor));
  EXPECT_EQ(*read(path), tensor);
  const auto limited = read(path, {}, {.fileBytes = 10});
  ASSERT_FALSE(limited);
  EXPECT_EQ(limited.error().code, Code::kInvalidArgument);
  const auto missing = read((folder / "absent.npy").string());
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, Code::kNotFound);
  EXPECT_THAT(missing.error().message, HasSubstr("absent.npy"));
  EXPECT_FALSE(read(folder.string()));
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace kiln::npy
