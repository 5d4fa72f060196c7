#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "compiler_core/frontend/parameters/parameter_file.h"
#include "tests/compiler_core/frontend/parameters/file_writers.h"
#include "tests/support/temp_directory.h"

namespace kiln::parameters {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using namespace testing_support;

std::string oneTensor(const std::string& name) {
  return safetensors("{" + safetensorsEntry(name, "U8", "1", 0, 1) + "}", "x");
}
std::string index(const std::string& map) {
  return "{\"metadata\":{\"total_size\":2},\"weight_map\":{" + map + "}}";
}

class ReadParametersTest : public testing::Test {
 protected:
  std::string write(const std::string& name, const std::string& bytes) {
    std::ofstream(directory_ / name, std::ios::binary) << bytes;
    return directory_ / name;
  }
  void expectFormat(const std::string& bytes, Format format) {
    // By any name but that of its format.
    const auto found = readParameters(write("weights.bin", bytes));
    ASSERT_TRUE(found) << found.error().message;
    EXPECT_EQ(found->format, format);
    EXPECT_THAT(found->files, ElementsAre(directory_ / "weights.bin"));
  }
  void expectError(const std::string& path, const std::string& part, Code code = Code::kInvalidArgument) {
    const auto found = readParameters(path);
    ASSERT_FALSE(found) << part;
    EXPECT_EQ(found.error().code, code) << found.error().message;
    EXPECT_THAT(found.error().message, HasSubstr(part));
    EXPECT_THAT(found.error().message, HasSubstr(directory_.path()));
  }

  TempDirectory directory_;
};

TEST_F(ReadParametersTest, FindsOutByTheBytes) {
  expectFormat(oneTensor("a"), Format::kSafetensors);
  expectFormat(writeZip({{"a.npy", npyOfFloats({1})}}), Format::kNpz);
  expectFormat(writeZip({}), Format::kNpz);
  expectFormat(npyOfFloats({1}), Format::kNpy);
  expectFormat(gguf({}, ""), Format::kGguf);
}

TEST_F(ReadParametersTest, NamesAnArrayByItsFile) {
  const auto found = readParameters(write("bias.npy", npyOfFloats({1})));
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_EQ(found->tensors[0].name, "bias");
}

TEST_F(ReadParametersTest, KeepsTheMapAlive) {
  auto found = readParameters(write("a.safetensors", oneTensor("a")));
  ASSERT_TRUE(found) << found.error().message;
  const ir::Weight kept = found->tensors[0];
  found = fail(Code::kInternal, "gone");
  EXPECT_EQ(kept.bytes[0], 'x');
}

TEST_F(ReadParametersTest, NamesWhatElseAFileIs) {
  expectError(write("a", "version https://git-lfs.github.com/spec/v1\n"), "git lfs pull");
  expectError(write("a", "\x80\x04pickle"), "a pickle");
  expectError(write("a", "\x89HDF\r\n\x1a\n"), "an HDF5 file");
  expectError(write("a", ""), "none of safetensors, npz, npy and GGUF");
  expectError(write("a", "text of some length"), "none of safetensors, npz, npy and GGUF");
  expectError(directory_ / "nothing", "nothing", Code::kNotFound);
}

TEST_F(ReadParametersTest, SaysWhichFileAndWhichTensor) {
  expectError(write("a", safetensors("{" + safetensorsEntry("w", "U8", "2", 0, 1) + "}", "x")),
              "/a: tensor \"w\"");
}

TEST_F(ReadParametersTest, ReadsTheShardsOfAFolder) {
  write("1.safetensors", oneTensor("b"));
  write("2.safetensors", oneTensor("a"));
  write("model.safetensors.index.json", index("\"a\":\"2.safetensors\",\"b\":\"1.safetensors\""));
  for (const std::string& path : {directory_.path(), directory_ / "model.safetensors.index.json"}) {
    const auto found = readParameters(path);
    ASSERT_TRUE(found) << found.error().message;
    EXPECT_EQ(found->path, path);
    ASSERT_EQ(found->tensors.size(), 2u);
    EXPECT_EQ(found->tensors[0].name, "b");
    EXPECT_EQ(found->tensors[1].name, "a");
    EXPECT_THAT(found->files, ElementsAre(directory_ / "model.safetensors.index.json",
                                          directory_ / "1.safetensors", directory_ / "2.safetensors"));
  }
}

TEST_F(ReadParametersTest, ReadsTheOneFileOfAFolder) {
  expectError(directory_.path(), "a folder of parameters has", Code::kNotFound);
  write("model.safetensors", oneTensor("a"));
  const auto found = readParameters(directory_.path());
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_THAT(found->files, ElementsAre(directory_ / "model.safetensors"));
}

TEST_F(ReadParametersTest, HoldsShardsAgainstTheirIndex) {
  const std::string path = directory_ / "model.safetensors.index.json";
  const auto expect = [&](const std::string& map, const std::string& part,
                          Code code = Code::kInvalidArgument) {
    write("model.safetensors.index.json", index(map));
    expectError(path, part, code);
  };
  write("1.safetensors", oneTensor("a"));
  write("2.safetensors", oneTensor("a"));
  write("3.safetensors", index("\"a\":\"3.safetensors\""));
  expect("\"b\":\"1.safetensors\"", "1.safetensors: tensor \"a\" is not one that");
  expect("\"a\":\"1.safetensors\",\"b\":\"1.safetensors\"", "tensor \"b\" is not in 1.safetensors");
  expect("\"a\":\"1.safetensors\",\"b\":\"2.safetensors\"", "2.safetensors: tensor \"a\" is not one that");
  expect("\"a\":\"4.safetensors\"", "4.safetensors", Code::kNotFound);
  expect("\"a\":\"3.safetensors\"", "3.safetensors: not a file of parameters");
  for (const char* wrong : {"\"../1.safetensors\"", "\"/etc/passwd\"", "\"deep/1.safetensors\"", "\"\"", "7"})
    expect(std::string("\"a\":") + wrong, "no plain name of a file beside the index");
  write("model.safetensors.index.json", "{\"weight_map\":[]}");
  expectError(path, "no object \"weight_map\"");
  write("model.safetensors.index.json", "{\"weight_map\":" + std::string(100'000, '['));
  expectError(path, "nesting deeper");
}

}  // namespace
}  // namespace kiln::parameters
