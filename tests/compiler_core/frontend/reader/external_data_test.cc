#include "compiler_core/frontend/onnx/reader/external_data.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <fstream>

#include "compiler_core/frontend/onnx/reader/parse.h"
#include "compiler_core/frontend/onnx/reader/tensor_data.h"
#include "tests/support/onnx_builder.h"
#include "tests/support/temp_directory.h"

namespace kiln::onnx {
namespace {

using testing::HasSubstr;
using namespace testing_support;

class ExternalDataTest : public testing::Test {
 protected:
  void write(const std::string& name, const std::string& text) { std::ofstream(directory_ / name) << text; }

  Result<ir::Weight> read(const std::string& location, std::int64_t offset = 0, std::int64_t length = 8) {
    bytes_ = OnnxBuilder()
                 .input("x", {1})
                 .output("x")
                 .initializer(onnxExternalTensor("w", {2}, location, offset, length))
                 .build();
    KILN_ASSIGN(Model model, parseModel(asBytes(bytes_)));
    ExternalData external(directory_.path() + "/model");
    return tensorData(model.graph.initializers[0], nullptr, external);
  }

  void expectError(const std::string& location, Code code, std::string_view part) {
    auto result = read(location);
    ASSERT_FALSE(result) << location;
    EXPECT_EQ(result.error().code, code) << result.error().message;
    EXPECT_THAT(result.error().message, HasSubstr(std::string(part)));
  }

  void SetUp() override {
    std::filesystem::create_directories(directory_ / "model/deep");
    write("secret.bin", "secretssecrets!!");
    write("model/weights.bin", std::string("....\0\0\x80\x3f\0\0\0\x40", 12));
    write("model/deep/weights.bin", std::string("\0\0\x80\x3f\0\0\0\x40", 8));
  }

  TempDirectory directory_;
  std::string bytes_;
};

TEST_F(ExternalDataTest, ReadsARange) {
  auto weight = read("weights.bin", 4);
  ASSERT_TRUE(weight) << weight.error().message;
  float expected[2] = {1, 2};
  EXPECT_EQ(std::memcmp(weight->bytes.data(), expected, 8), 0);
  EXPECT_TRUE(read("deep/weights.bin"));
  EXPECT_TRUE(read("./deep/./weights.bin"));
}

TEST_F(ExternalDataTest, PathsThatLeaveTheDirectory) {
  expectError("../secret.bin", Code::kInvalidArgument, "leaves the model's directory");
  expectError("../../etc/passwd", Code::kInvalidArgument,
              "\"../../etc/passwd\" leaves the model's directory");
  expectError("deep/../../secret.bin", Code::kInvalidArgument, "leaves the model's directory");
  expectError("/etc/passwd", Code::kInvalidArgument, "absolute path");
  expectError("deep//weights.bin", Code::kInvalidArgument, "empty component");
  expectError("..\\secret.bin", Code::kInvalidArgument, "backslash");
  expectError("", Code::kInvalidArgument, "has no name");
  expectError(".", Code::kInvalidArgument, "names a directory");
}

TEST_F(ExternalDataTest, SymbolicLinksAreNotFollowed) {
  std::filesystem::create_symlink(directory_ / "secret.bin", directory_ / "model/link.bin");
  std::filesystem::create_directory_symlink(directory_.path(), directory_ / "model/up");
  expectError("link.bin", Code::kInvalidArgument, "symbolic link");
  expectError("up/secret.bin", Code::kInvalidArgument, "symbolic link");
}

TEST_F(ExternalDataTest, MissingAndShortFilesAreNamed) {
  expectError("none.bin", Code::kNotFound, "/none.bin");
  expectError("deep", Code::kInvalidArgument, "no regular file");
  auto beyond = read("weights.bin", 8);
  ASSERT_FALSE(beyond);
  EXPECT_THAT(beyond.error().message,
              HasSubstr("\"weights.bin\" has 12 bytes; 8 bytes from 8 on are asked for"));
  auto length = read("weights.bin", 0, 12);
  ASSERT_FALSE(length);
  EXPECT_THAT(length.error().message, HasSubstr("the shape needs 8"));
  EXPECT_FALSE(read("weights.bin", -1));
  EXPECT_FALSE(read("weights.bin", INT64_MAX));
}

// What a build would find when it reads the data is found from the files' sizes alone.
TEST_F(ExternalDataTest, RangesAreCheckedWithoutReading) {
  const auto why = [](const std::vector<std::int64_t>& dims, std::int64_t offset, std::int64_t length,
                      const std::string& location = "w.bin") {
    const std::string bytes = OnnxBuilder()
                                  .input("x", {1})
                                  .output("x")
                                  .initializer(onnxExternalTensor("w", dims, location, offset, length))
                                  .build();
    const auto model = parseModel(asBytes(bytes));
    EXPECT_TRUE(model);
    const Status checked = checkExternal(*model, {{"w.bin", 12}});
    return checked ? std::string() : checked.error().message;
  };
  EXPECT_EQ(why({2}, 4, 8), "");
  EXPECT_EQ(why({2}, 0, 8, "./w.bin"), "");
  EXPECT_EQ(why({2}, 400, 8, "elsewhere.bin"), "") << "not known here";
  EXPECT_THAT(why({2}, 8, 8),
              HasSubstr("tensor \"w\": external data file \"w.bin\" has 12 bytes; 8 bytes from 8 on"));
  EXPECT_THAT(why({2}, INT64_MAX, 8), HasSubstr("has 12 bytes"));
  EXPECT_THAT(why({2}, 0, 12), HasSubstr("length is 12 bytes, the shape needs 8"));
  EXPECT_THAT(why({3}, 0, 8), HasSubstr("length is 8 bytes, the shape needs 12"));
  EXPECT_THAT(why({2}, -1, 8), HasSubstr("offset \"-1\" is no number of bytes"));
  EXPECT_THAT(why({2}, 0, -8), HasSubstr("length \"-8\" is no number of bytes"));
  EXPECT_THAT(why({-2}, 0, 8), HasSubstr("negative dimension"));
  EXPECT_THAT(why({2}, 0, 8, "../w.bin"), HasSubstr("leaves the model's directory"));
}

TEST_F(ExternalDataTest, ListsFiles) {
  OnnxBuilder branch;
  branch.initializer(onnxExternalTensor("d", {1}, "inner.bin", 0, 4)).output("d");
  std::string bytes =
      OnnxBuilder()
          .input("x", {1})
          .input("c", {}, kOnnxBool)
          .node("If", {"c"}, {"i"}, {onnxGraph("then_branch", branch), onnxGraph("else_branch", branch)})
          .output("x")
          .initializer(onnxExternalTensor("b", {1}, "b.bin", 0, 4))
          .initializer(onnxExternalTensor("a", {1}, "a.bin", 0, 4))
          .initializer(onnxExternalTensor("c", {1}, "./b.bin", 4, 4))
          .build();
  auto model = parseModel(asBytes(bytes));
  ASSERT_TRUE(model);
  auto files = externalFiles(*model);
  ASSERT_TRUE(files);
  EXPECT_THAT(*files, testing::ElementsAre("a.bin", "b.bin", "inner.bin"));
}

}  // namespace
}  // namespace kiln::onnx
