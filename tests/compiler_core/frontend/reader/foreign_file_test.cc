// Files that people take for ONNX models: each is named for what it is, by its path.
#include "compiler_core/frontend/onnx/reader/foreign_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "compiler_core/frontend/onnx/reader/load.h"
#include "tests/support/onnx_builder.h"
#include "tests/support/temp_directory.h"

namespace kiln::onnx {
namespace {

using testing::HasSubstr;
using namespace testing_support;
using namespace std::string_literals;

// One entry of a ZIP archive.
std::string zipEntry(const std::string& name, const std::string& data) {
  const auto number = [](std::size_t value, int width) {
    std::string text;
    for (int i = 0; i < width; ++i) text += static_cast<char>(value >> (8 * i) & 0xff);
    return text;
  };
  return "PK\3\4" + std::string(14, '\0') + number(data.size(), 4) + number(data.size(), 4) +
         number(name.size(), 2) + number(0, 2) + name + data;
}

std::string safetensors() {
  const std::string header = R"({"w":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})";
  return static_cast<char>(header.size()) + std::string(7, '\0') + header + std::string(4, '\1');
}

const std::vector<std::pair<std::string, std::string>>& foreignFiles() {
  static const std::vector<std::pair<std::string, std::string>> files = {
      {"", "an empty file"},
      {"version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12345\n", "git lfs pull"},
      {zipEntry("net/data.pkl", "\x80\x02}q"), "a PyTorch checkpoint"},
      {zipEntry("net/code/__torch__.py", "x") + zipEntry("net/constants.pkl", "\x80\x02)"),
       "a PyTorch checkpoint"},
      {"\x80\x02\x8a\nl\xfc\x9c\x46\xf9 j\xa8P\x19.\x80\x02M\xe9\x03.", "a Python pickle"},
      {"\x80\x05\x95\x10\0\0\0\0\0\0\0}"s, "a Python pickle"},
      {zipEntry("metadata.json", "{}") + zipEntry("config.json", "{}") +
           zipEntry("model.weights.h5", "\x89HDF"),
       "a Keras model"},
      {"\x89HDF\r\n\x1a\n\0\0\0\0"s, "a Keras model or another HDF5 file"},
      {zipEntry("arr_0.npy", "\x93NUMPY"), "a NumPy archive"},
      {zipEntry("model.onnx", "x"), "a ZIP archive"},
      {safetensors(), "a safetensors file"},
      {"\x1c\0\0\0TFL3\x14\0 \0"s, "a TensorFlow Lite model"},
      {"\x1c\0\0\0ORTM\x14\0 \0"s, "ONNX Runtime's own format"},
      {"GGUF\3\0\0\0"s + std::string(16, '\1'), "a GGUF file"},
      {"\x89PNG\r\n\x1a\n\0\0\0\rIHDR"s, "an image"},
      {"\xff\xd8\xff\xe0\0\x10JFIF\0"s, "an image"},
      {"RIFF\x24\0\0\0WEBPVP8 "s, "an image"},
      {"\n<!DOCTYPE HTML>\n<html><body>Sign in</body></html>", "an HTML page"},
      {"\xef\xbb\xbf<HTML>\n", "an HTML page"},
      {"<?xml version=\"1.0\"?>\n<net name=\"m\"/>", "an XML file"},
      {" {\"error\": \"Repository not found\"}\n", "a JSON file"},
      {"[1, 2, 3]", "a JSON file"},
      {"#!/bin/sh\necho no model\n", "a text file"},
      {"\x1f\x8b\x08\0\0\0\0\0"s, "a compressed file"},
      {"\x7f" + "ELF\2\1\1"s, "a program"},
      {std::string(4096, '\0'), "nothing but zeros"},
      {std::string(257, 'a') + "ustar", "a tar archive"},
  };
  return files;
}

class ForeignFile : public testing::Test {
 protected:
  std::string file(const std::string& bytes) {
    const std::string path = directory_ / "net.onnx";
    std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
    return path;
  }
  TempDirectory directory_;
};

TEST_F(ForeignFile, IsNamedForWhatItIs) {
  for (const auto& [bytes, what] : foreignFiles()) {
    EXPECT_THAT(foreignKind(asBytes(bytes), bytes.size()), HasSubstr(what));
    const std::string path = file(bytes);
    const auto loaded = loadModel(path);
    ASSERT_FALSE(loaded) << what;
    EXPECT_EQ(loaded.error().code, Code::kInvalidArgument);
    EXPECT_THAT(loaded.error().message, HasSubstr(path + ": no ONNX model but "));
    EXPECT_THAT(loaded.error().message, HasSubstr(what));
  }
}

TEST_F(ForeignFile, IsRefusedWhereverItIsCut) {
  for (const auto& [bytes, what] : foreignFiles())
    for (std::size_t size = 0; size < std::min<std::size_t>(bytes.size(), 300); ++size) {
      // In memory of its own size, so that a sanitizer sees a look beyond its end.
      const std::vector<std::uint8_t> cut(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(size));
      const auto model = readModel(cut);
      ASSERT_FALSE(model) << what << " cut at " << size;
      EXPECT_EQ(model.error().code, Code::kInvalidArgument);
    }
}

TEST_F(ForeignFile, AModelIsNoForeignFile) {
  const std::string bytes = OnnxBuilder(13).input("x", {2}).output("y").node("Relu", {"x"}, {"y"}).build();
  EXPECT_EQ(foreignKind(asBytes(bytes), bytes.size()), "");
  EXPECT_TRUE(loadModel(file(bytes)));
}

TEST_F(ForeignFile, AModelThatIsCutIsCalledTruncated) {
  const std::string bytes = OnnxBuilder(13)
                                .input("x", {64})
                                .output("y")
                                .initializer(onnxTensor("w", {64}, std::vector<float>(64, 1)))
                                .node("Add", {"x", "w"}, {"y"})
                                .build();
  int truncated = 0;
  for (std::size_t size = 3; size < bytes.size(); ++size) {
    const auto loaded = loadModel(file(bytes.substr(0, size)));
    if (loaded) continue;  // only what follows the graph is missing
    EXPECT_EQ(loaded.error().code, Code::kInvalidArgument);
    if (loaded.error().message.find("a truncated ONNX model: the file ends after " + std::to_string(size)) !=
        std::string::npos)
      ++truncated;
  }
  EXPECT_GT(truncated, static_cast<int>(bytes.size()) / 2);
}

}  // namespace
}  // namespace kiln::onnx
