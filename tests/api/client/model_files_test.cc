#include "api/client/model_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "tests/api/client/onnx_bytes.h"
#include "tests/support/temp_directory.h"

namespace kiln::client {
namespace {

using testing_support::modelWithExternal;

class ModelFilesTest : public testing::Test {
 protected:
  std::string file(const std::string& name, const std::string& content) {
    const auto path = directory_ / name;
    std::filesystem::create_directories(std::filesystem::path(path).parent_path());
    std::ofstream(path, std::ios::binary) << content;
    return path;
  }
  testing_support::TempDirectory directory_;
};

TEST_F(ModelFilesTest, FindsWhatTheModelNames) {
  const auto model = file("m/model.onnx", modelWithExternal("parts/w.bin"));
  file("m/parts/w.bin", "weights");
  const auto files = findModelFiles(model, {});
  ASSERT_TRUE(files) << files.error().message;
  ASSERT_EQ(files->size(), 2u);
  EXPECT_EQ((*files)[0].name, "model.onnx");
  EXPECT_EQ((*files)[1].name, "parts/w.bin");
}

TEST_F(ModelFilesTest, RefusesExternalDataOutsideTheModelsFolder) {
  for (const char* location : {"../../etc/passwd", "/etc/passwd", "a/../../b", "a//b", "w/", "a\\b", ""}) {
    const auto files = findModelFiles(file("m/bad.onnx", modelWithExternal(location)), {});
    ASSERT_FALSE(files) << location;
    EXPECT_EQ(files.error().code, Code::kInvalidArgument);
    EXPECT_NE(files.error().details.find("\"exitCode\":3"), std::string::npos);
    EXPECT_NE(files.error().message.find(location), std::string::npos);
  }
}

// What is wrong is said of each as it is: nothing else lies outside.
TEST_F(ModelFilesTest, SaysWhyAPlaceOfExternalDataIsRefused) {
  const auto why = [&](const std::string& location) {
    const auto files = findModelFiles(file("m/bad.onnx", modelWithExternal(location)), {});
    EXPECT_FALSE(files) << location;
    return files ? std::string() : files.error().message;
  };
  EXPECT_THAT(why("../w"), testing::HasSubstr("leaves the model's directory"));
  EXPECT_THAT(why("/w"), testing::HasSubstr("is an absolute path"));
  EXPECT_THAT(why("w/"), testing::HasSubstr("names a directory"));
  EXPECT_THAT(why(""), testing::HasSubstr("has no name"));
  EXPECT_THAT(why(std::string("a\0b", 3)), testing::HasSubstr("control character"));
  EXPECT_THAT(why("spec.json"), testing::HasSubstr("a build uses for a file of its own"));
  file("m/folder/inside", "");
  EXPECT_THAT(why("folder"), testing::HasSubstr("is no regular file"));
}

// "No such file" would send the user to look for what is there.
TEST_F(ModelFilesTest, AFolderThatMayNotBeSearchedIsDenied) {
  const auto model = file("closed/model.onnx", modelWithExternal("w.bin"));
  std::filesystem::permissions(directory_ / "closed", std::filesystem::perms::none);
  const pid_t child = ::fork();
  if (child == 0) {
    // Root may search every folder.
    if (::geteuid() == 0 && ::seteuid(65534) != 0) ::_exit(3);
    const auto files = findModelFiles(model, {});
    ::_exit(files ? 1 : files.error().code == Code::kPermissionDenied ? 0 : 2);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  std::filesystem::permissions(directory_ / "closed", std::filesystem::perms::owner_all);
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

TEST_F(ModelFilesTest, OneFileHowEverItIsWritten) {
  file("m/w.bin", "weights!");
  file("m/a/x", "weights!");
  for (const auto& [location, name] : {std::pair{"./w.bin", "w.bin"}, {"a/./x", "a/x"}, {"././a/x", "a/x"}}) {
    const auto files = findModelFiles(file("m/model.onnx", modelWithExternal(location)), {});
    ASSERT_TRUE(files) << files.error().message;
    ASSERT_EQ(files->size(), 2u);
    EXPECT_EQ((*files)[1].name, name);
    EXPECT_EQ(externalSizes(*files), (onnx::ExternalSizes{{name, 8}}));
  }
}

TEST_F(ModelFilesTest, RefusesALinkOutOfTheFolderUnlessNamed) {
  const auto secret = file("secret", "key");
  const auto model = file("m/model.onnx", modelWithExternal("w.bin"));
  std::filesystem::create_symlink(secret, directory_ / "m/w.bin");
  EXPECT_FALSE(findModelFiles(model, {}));
  const auto files = findModelFiles(model, {"w.bin=" + secret});
  ASSERT_TRUE(files) << files.error().message;
  EXPECT_EQ((*files)[1].name, "w.bin");
  EXPECT_EQ((*files)[1].path, secret);
}

TEST_F(ModelFilesTest, NamesWhatIsMissing) {
  EXPECT_EQ(findModelFiles(directory_ / "none.onnx", {}).error().code, Code::kNotFound);
  const auto files = findModelFiles(file("m/model.onnx", modelWithExternal("w.bin")), {});
  ASSERT_FALSE(files);
  EXPECT_EQ(files.error().code, Code::kNotFound);
  EXPECT_NE(files.error().message.find("m/w.bin"), std::string::npos);
}

// A whole model with one initializer in each of these places.
std::string modelWith(const std::vector<std::string>& locations) {
  using namespace testing_support;
  std::string tensors;
  for (const std::string& location : locations) tensors += field(5, externalTensor(location));
  return varintField(1, 8) + field(7, tensors + field(12, floatInput("w", {"1"})));
}

TEST_F(ModelFilesTest, DataFilesTakeTheirPlaceFromTheFolder) {
  const auto model = file("m/model.onnx", modelWith({"sub/extra.bin", "elsewhere.bin", "a=b.bin"}));
  const auto files = findModelFiles(
      model, {file("m/sub/extra.bin", "x"), file("elsewhere.bin", "y"), "a=b.bin=" + file("c=d", "z")});
  ASSERT_TRUE(files) << files.error().message;
  ASSERT_EQ(files->size(), 4u);
  EXPECT_EQ((*files)[0].path, model);
  EXPECT_EQ((*files)[1].name, "sub/extra.bin");
  EXPECT_EQ((*files)[2].name, "elsewhere.bin");
  EXPECT_EQ((*files)[3].name, "a=b.bin");
  EXPECT_EQ((*files)[3].path, directory_ / "c=d");
}

// What the model does not read must not become a material of its artifact.
TEST_F(ModelFilesTest, DataThatTheModelDoesNotNameIsRefused) {
  const auto why = [&](const std::string& model, const std::vector<std::string>& data) {
    const auto files = findModelFiles(model, data);
    EXPECT_FALSE(files);
    if (files) return std::string();
    EXPECT_EQ(files.error().code, Code::kInvalidArgument);
    EXPECT_EQ(files.error().details, "") << files.error().message;
    return files.error().message;
  };
  const auto model = file("m/model.onnx", modelWith({"w.bin"})), extra = file("m/extra.bin", "x");
  file("m/w.bin", "weights");
  for (const std::string& data : {extra, "v.bin=" + extra, "../w.bin=" + extra, "=" + extra, model})
    EXPECT_THAT(why(model, {data}),
                testing::AllOf(testing::HasSubstr("--data " + data + ": the model names no such file"),
                               testing::HasSubstr("weights in \"w.bin\"")));
  EXPECT_THAT(why(model, {"w.bin=" + extra, directory_ / "m/w.bin"}), testing::HasSubstr("is given twice"));
  EXPECT_THAT(why(file("m/whole.onnx", testing_support::emptyModel()), {extra}),
              testing::HasSubstr("it keeps nothing outside itself"));
  EXPECT_THAT(why(file("m/whole.mlir", "module { stablehlo. }"), {extra}),
              testing::HasSubstr("it keeps nothing outside itself"));
  EXPECT_EQ(findModelFiles(model, {"w.bin=" + extra + "x"}).error().code, Code::kNotFound);
  const auto page = findModelFiles(file("m/page.onnx", "<!DOCTYPE html><title>Sign in</title>"), {extra});
  EXPECT_THAT(page.error().message, testing::HasSubstr("no ONNX model but an HTML page"));
}

}  // namespace
}  // namespace kiln::client
