#include "worker/fetcher/fetch.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include "storage/source/fetched_model.h"
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
    commit.list = [&](const std::string& name) -> Result<std::optional<source::CommitTree::Listing>> {
      if (files_.contains(name)) return std::optional<source::CommitTree::Listing>();
      const std::string home = name == source::kWholeCommit ? "" : name + "/";
      std::set<std::string> below, folders;
      for (const auto& [path, bytes] : files_) {
        if (!path.starts_with(home)) continue;
        const std::string rest = path.substr(home.size());
        (rest.find('/') == std::string::npos ? below : folders).insert(rest.substr(0, rest.find('/')));
      }
      if (below.empty() && folders.empty()) return fail(Code::kNotFound, name + " is not in the commit");
      return std::optional(
          source::CommitTree::Listing{{below.begin(), below.end()}, {folders.begin(), folders.end()}});
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
  // What was written, by name.
  std::vector<std::string> everything() {
    std::vector<std::string> names;
    for (const auto& each : std::filesystem::recursive_directory_iterator(out_))
      if (each.is_regular_file()) names.push_back(each.path().string().substr(out_.size() + 1));
    std::ranges::sort(names);
    return names;
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

using Names = std::vector<std::string>;
constexpr char kProgram[] =
    "module @m { func.func @main(%x: tensor<3xf32>) -> tensor<3xf32> { %0 = stablehlo.abs %x } }";

TEST_F(WriteModel, OfAFolderTheModelAndItsDataAndNothingElse) {
  files_ = {{"bert/config.json", "{}"},
            {"bert/pytorch_model.bin", pointerTo("other weights")},
            {"bert/onnx/model.onnx", modelWithDataAt("model.onnx_data")},
            {"bert/onnx/model.onnx_data", pointerTo("weights")},
            {"bert/model.safetensors", pointerTo("the same weights")},
            {"other/m.onnx", "x"}};
  const Status done = write("bert");
  ASSERT_TRUE(done) << done.error().message;
  EXPECT_EQ(everything(), (Names{"data/model.onnx_data", "model/onnx/model.onnx"}));
  EXPECT_EQ(written("data/model.onnx_data"), "weights");
  EXPECT_EQ(asked_, (Names{"bert/onnx/model.onnx_data"})) << "no other object is worth a transfer";
}

TEST_F(WriteModel, OfTheWholeCommitAProgramWithItsShards) {
  files_ = {{"program.txt", kProgram},
            {"model.safetensors.index.json", R"({"weight_map":{"a":"w-2","b":"w-1","c":"w-2"}})"},
            {"w-1", pointerTo("first")},
            {"w-2", "second"}};
  const Status done = write(source::kWholeCommit);
  ASSERT_TRUE(done) << done.error().message;
  EXPECT_EQ(everything(), (Names{"model/program.txt", "weights/w-1", "weights/w-2"}));
  EXPECT_EQ(written("weights/w-1"), "first");
}

TEST_F(WriteModel, AModelThatGitLfsKeepsIsKnownByItsName) {
  files_ = {{"m/net.mlirbc", pointerTo(kProgram)}, {"m/model.safetensors", pointerTo("w")}};
  ASSERT_TRUE(write("m"));
  EXPECT_EQ(everything(), (Names{"model/net.mlirbc", "weights/model.safetensors"}));
  files_ = {{"m/net.bin", pointerTo(kProgram)}};
  EXPECT_EQ(write("m").error().code, Code::kNotFound) << "an object that nothing says is a model";
  files_ = {{"m/a.onnx", pointerTo("x")}, {"m/b.mlir", kProgram}};
  EXPECT_NE(write("m").error().message.find("2 models in this folder (a.onnx, b.mlir)"), std::string::npos);
}

TEST_F(WriteModel, AModelThatNoBuildCouldNameIsRefused) {
  files_ = {{"m/\xff.onnx", "x"}};
  EXPECT_EQ(write("m").error().code, Code::kInvalidArgument);
  files_ = {{"m/a\\b.onnx", "x"}};
  EXPECT_EQ(write("m").error().code, Code::kInvalidArgument);
  EXPECT_TRUE(everything().empty());
}

TEST_F(WriteModel, AFolderIsBounded) {
  files_ = {{"m/net.mlir", kProgram}, {"m/model.safetensors", pointerTo(std::string(1000, 'x'))}};
  EXPECT_EQ(write("m", {.totalBytes = 500}).error().code, Code::kOutOfRange);
  std::string shards;
  for (int i = 0; i < 5; ++i)
    shards += (i > 0 ? ",\"" : "\"") + std::to_string(i) + "\":\"w" + std::to_string(i) + '"';
  files_ = {{"m/net.mlir", kProgram},
            {"m/model.safetensors.index.json", "{\"weight_map\":{" + shards + "}}"}};
  sandbox::removeTree(out_ + "/model");
  EXPECT_EQ(write("m", {.files = 4}).error().code, Code::kResourceExhausted);
  // What is looked at counts, although it is not written.
  files_ = {{"m/a.txt", std::string(400, 'x')}, {"m/b.txt", std::string(400, 'x')}, {"m/net.mlir", kProgram}};
  EXPECT_EQ(write("m", {.totalBytes = 500}).error().code, Code::kOutOfRange);
  EXPECT_TRUE(asked_.empty());
}

TEST_F(WriteModel, ShardsOutsideTheFolderAreRefused) {
  for (const std::string shard : {"../w", "/etc/passwd", "a/w", "."}) {
    files_ = {{"m/net.mlir", kProgram},
              {"m/model.safetensors.index.json", R"({"weight_map":{"a":")" + shard + R"("}})"},
              {"w", "x"}};
    sandbox::removeTree(out_ + "/model");
    const Status done = write("m");
    EXPECT_EQ(done.error().code, Code::kInvalidArgument) << shard;
    EXPECT_EQ(done.error().details, R"({"exitCode":3})");
  }
}

TEST_F(WriteModel, DataThatIsCalledLikeTheBuildsOwnFilesIsRefused) {
  for (const std::string name : {"model.mlir", "spec.json"}) {
    files_ = {{"m/net.onnx", modelWithDataAt(name)}, {"m/" + name, "x"}};
    EXPECT_NE(write("m/net.onnx").error().message.find("a build uses for a file of its own"),
              std::string::npos);
    unlink((out_ + "/net.onnx").c_str());
  }
}

}  // namespace
}  // namespace kiln::fetcher
