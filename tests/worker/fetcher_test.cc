#include "worker/fetcher/fetch.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <map>
#include <sstream>

#include "worker/sandbox/outputs.h"

namespace kiln::fetcher {
namespace {

// A length-delimited protobuf field; everything here is shorter than 128 bytes.
std::string field(int number, const std::string& bytes) {
  return std::string(1, static_cast<char>(number << 3 | 2)) + static_cast<char>(bytes.size()) + bytes;
}

// An ONNX model with one initializer whose bytes are at `location`.
std::string modelWithDataAt(const std::string& location) {
  const std::string entry = field(1, "location") + field(2, location);
  const std::string tensor = field(13, entry) + std::string("\x70\x01", 2);  // data_location = EXTERNAL
  return field(7, field(5, tensor));
}

class WriteModel : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = testing::TempDir() + "kiln-fetcher-XXXXXX";
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    out_ = pattern;
  }
  void TearDown() override { EXPECT_TRUE(sandbox::removeTree(out_)); }

  Status write(const std::string& path, const Limits& limits = {}) {
    Commit commit;
    commit.read = [&](const std::string& name, std::uint64_t limit) -> Result<std::string> {
      const auto found = files_.find(name);
      if (found == files_.end()) return fail(Code::kNotFound, name + " is not in the commit");
      if (found->second.size() > limit) return fail(Code::kOutOfRange, name + " is too large");
      return found->second;
    };
    commit.fetchLarge = [&](std::span<const lfs::LargeFile> files) -> Status {
      for (const lfs::LargeFile& file : files) {
        asked_.push_back(file.path);
        const auto found = objects_.find(file.object);
        if (found == objects_.end()) return fail(Code::kNotFound, lfs::describe(file) + " is not there");
        std::ofstream(file.output) << found->second;
      }
      return {};
    };
    return writeModel(commit, path, out_, limits);
  }
  // What the commit has in the place of `bytes`, which Git LFS keeps.
  std::string pointerTo(const std::string& bytes) {
    const Digest object = digestOf(bytes);
    objects_[object] = bytes;
    return "version https://git-lfs.github.com/spec/v1\noid " + object.text() + "\nsize " +
           std::to_string(object.size) + "\n";
  }
  std::string written(const std::string& name) {
    std::stringstream text;
    text << std::ifstream(out_ + "/" + name).rdbuf();
    return text.str();
  }

  std::string out_;
  std::map<std::string, std::string> files_;
  std::map<Digest, std::string> objects_;
  std::vector<std::string> asked_;
};

TEST_F(WriteModel, TheModelUnderItsNameAndItsDataBesideIt) {
  files_ = {{"a/b/net.onnx", modelWithDataAt("w/1.bin")}, {"a/b/w/1.bin", "weights"}};
  const Status done = write("a/b/net.onnx");
  ASSERT_TRUE(done) << done.error().message;
  EXPECT_EQ(written("net.onnx"), files_["a/b/net.onnx"]);
  EXPECT_EQ(written("w/1.bin"), "weights");
}

TEST_F(WriteModel, WhatIsNoOnnxModelComesAlone) {
  files_ = {{"m.mlir", "module {}"}};
  EXPECT_TRUE(write("m.mlir"));
  EXPECT_EQ(written("m.mlir"), "module {}");
}

TEST_F(WriteModel, Case18DataOutsideTheModelsDirectoryIsRefused) {
  for (const std::string location : {"../../etc/passwd", "/etc/passwd", "a/../b", "net.onnx", ""}) {
    files_ = {{"net.onnx", modelWithDataAt(location)}};
    unlink((out_ + "/net.onnx").c_str());
    const Status done = write("net.onnx");
    ASSERT_FALSE(done) << location;
    EXPECT_EQ(done.error().code, Code::kInvalidArgument) << done.error().message;
    EXPECT_EQ(done.error().details, R"({"exitCode":3})") << "the model is at fault";
  }
}

TEST_F(WriteModel, MissingAndOversizedDataIsNamed) {
  files_ = {{"net.onnx", modelWithDataAt("w.bin")}};
  Status done = write("net.onnx");
  EXPECT_EQ(done.error().code, Code::kNotFound);
  EXPECT_EQ(done.error().message, "external data of net.onnx: w.bin is not in the commit");
  files_["w.bin"] = std::string(1000, 'x');
  unlink((out_ + "/net.onnx").c_str());
  done = write("net.onnx", {.totalBytes = 500});
  EXPECT_EQ(done.error().message, "external data of net.onnx: w.bin is too large");
}

TEST_F(WriteModel, ObjectsStandWhereTheCommitHasPointers) {
  files_ = {{"a/net.onnx", pointerTo(modelWithDataAt("w/1.bin"))}, {"a/w/1.bin", pointerTo("weights")}};
  const Status done = write("a/net.onnx");
  ASSERT_TRUE(done) << done.error().message;
  EXPECT_EQ(written("net.onnx"), modelWithDataAt("w/1.bin"));
  EXPECT_EQ(written("w/1.bin"), "weights");
  EXPECT_EQ(asked_, (std::vector<std::string>{"a/net.onnx", "a/w/1.bin"}));
}

TEST_F(WriteModel, ALargeFileIsRefusedBeforeItIsAskedFor) {
  files_ = {{"net.onnx", modelWithDataAt("w.bin")}, {"w.bin", pointerTo(std::string(1000, 'x'))}};
  const Status data = write("net.onnx", {.totalBytes = 500});
  EXPECT_EQ(data.error().code, Code::kOutOfRange);
  EXPECT_NE(data.error().message.find("'w.bin' (Git LFS object sha256:"), std::string::npos)
      << data.error().message;
  files_ = {{"big.onnx", pointerTo(std::string(1000, 'x'))}};
  EXPECT_EQ(write("big.onnx", {.fileBytes = 999}).error().code, Code::kOutOfRange);
  EXPECT_TRUE(asked_.empty());
}

TEST_F(WriteModel, APointerIsNeverTheModel) {
  files_ = {{"net.onnx", "version https://git-lfs.github.com/spec/v1\noid sha256:12\nsize 4\n"}};
  const Status broken = write("net.onnx");
  EXPECT_EQ(broken.error().code, Code::kInvalidArgument);
  EXPECT_EQ(broken.error().details, R"({"exitCode":3})") << "the model is at fault";
  files_ = {{"net.onnx", pointerTo("bytes")}};
  objects_.clear();
  EXPECT_EQ(write("net.onnx").error().code, Code::kNotFound);
  EXPECT_EQ(written("net.onnx"), "");
}

}  // namespace
}  // namespace kiln::fetcher
