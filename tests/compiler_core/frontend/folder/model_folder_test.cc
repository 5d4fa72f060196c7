#include "compiler_core/frontend/folder/model_folder.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <filesystem>

#include "manifest/base/file.h"
#include "tests/support/temp_directory.h"

namespace kiln::frontend {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr char kProgram[] =
    "module @m { func.func @main(%x: tensor<3xf32>) -> tensor<3xf32> { %0 = stablehlo.abs %x } }";

class ModelFolder : public ::testing::Test {
 protected:
  std::string write(const std::string& name, std::string_view bytes = "bytes") {
    const fs::path path = directory_ / name;
    fs::create_directories(path.parent_path());
    EXPECT_TRUE(writeFile(path, asBytes(bytes), O_TRUNC, 0644));
    return path;
  }
  std::string folder() const { return directory_ / "."; }
  std::string refusal(Code code) const {
    const auto found = modelInFolder(folder());
    if (found) return "found " + found->model;
    EXPECT_EQ(found.error().code, code);
    return found.error().message;
  }

  testing_support::TempDirectory directory_;
};

TEST_F(ModelFolder, AFileIsItselfWhateverItIs) {
  const std::string path = write("notes.txt");
  EXPECT_EQ(modelAt(path)->model, path);
  EXPECT_EQ(modelAt(directory_ / "none")->model, directory_ / "none")
      << "whoever opens it says that it is not there";
}

TEST_F(ModelFolder, TheOneModelIsTakenAmongWhatLiesBesideIt) {
  write("config.json", "{}");
  write("README.md", "# module stablehlo.add");
  write("model.onnx_data");
  write("model.safetensors");
  write("model.ONNX");
  const auto found = modelAt(folder());
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_EQ(fs::path(found->model).filename(), "model.ONNX");
  EXPECT_THAT(found->parameters, IsEmpty()) << "an ONNX file has its own weights";
}

TEST_F(ModelFolder, TheFolderOnnxIsLookedIntoWhereTheFolderHasNone) {
  write("config.json", "{}");
  write("onnx/model.onnx");
  EXPECT_EQ(fs::path(modelInFolder(folder())->model).filename(), "model.onnx");
  write("other.onnx");
  EXPECT_EQ(fs::path(modelInFolder(folder())->model).filename(), "other.onnx");
}

TEST_F(ModelFolder, AProgramIsKnownByItsBytesAndTakesTheWeightsBesideIt) {
  write("program.txt", kProgram);
  EXPECT_THAT(modelInFolder(folder())->parameters, IsEmpty());
  write("model.safetensors");
  EXPECT_THAT(modelInFolder(folder())->parameters, ElementsAre(HasSubstr("/model.safetensors")));
  write("model.safetensors.index.json");
  EXPECT_THAT(modelInFolder(folder())->parameters, ElementsAre(HasSubstr("/model.safetensors.index.json")))
      << "the index stands for all of its shards";
}

// As caches of published models keep them.
TEST_F(ModelFolder, LinksAreFollowed) {
  write("blobs/1234");
  fs::create_directories(directory_ / "snapshot");
  fs::create_symlink("../blobs/1234", directory_ / "snapshot/model.onnx");
  EXPECT_EQ(fs::path(modelInFolder(directory_ / "snapshot")->model).filename(), "model.onnx");
  fs::remove(directory_ / "blobs/1234");
  EXPECT_FALSE(modelInFolder(directory_ / "snapshot")) << "a link that leads nowhere is no model";
}

TEST_F(ModelFolder, SeveralModelsAreEachNamed) {
  write("decoder.onnx");
  write("encoder.onnx");
  EXPECT_THAT(refusal(Code::kInvalidArgument),
              HasSubstr("2 models in this folder (decoder.onnx, encoder.onnx)"));
}

TEST_F(ModelFolder, NoModelIsSaidWithWhatIsThereInstead) {
  EXPECT_THAT(refusal(Code::kNotFound), HasSubstr("which has no files"));
  write("config.json", "{}");
  EXPECT_THAT(refusal(Code::kNotFound), HasSubstr("only config.json"));
  write("model-00001-of-00002.safetensors");
  EXPECT_THAT(refusal(Code::kNotFound), HasSubstr("weights without a program"));
}

TEST_F(ModelFolder, AFolderWithoutEndIsNotReadWhole) {
  for (int i = 0; i <= 10'000; ++i) write(std::to_string(i), "");
  EXPECT_THAT(refusal(Code::kInvalidArgument), HasSubstr("more than 10000 entries"));
}

}  // namespace
}  // namespace kiln::frontend
