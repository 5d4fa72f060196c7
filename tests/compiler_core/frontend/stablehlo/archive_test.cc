// The readers on StableHLO's own cases and on models of JAX, where their archives are present:
// $KILN_STABLEHLO_DATA, or ../shared/data beside the checkout.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>

#include "compiler_core/frontend/stablehlo/read.h"
#include "tests/compiler_core/frontend/stablehlo/dump.h"
#include "tests/support/child_process.h"
#include "tests/support/temp_directory.h"

namespace kiln::stablehlo {
namespace {

using testing::HasSubstr;
using testing::Not;
namespace fs = std::filesystem;

class Archive : public testing::Test {
 protected:
  // Unpacks NAME.tar.zst; skips the test where there is none.
  void unpack(const std::string& name) {
    const char* given = std::getenv("KILN_STABLEHLO_DATA");
    const fs::path archive =
        fs::path(given ? given : KILN_SOURCE_DIR "/../shared/data") / (name + ".tar.zst");
    if (!fs::exists(archive)) GTEST_SKIP() << "no " << archive << "; set KILN_STABLEHLO_DATA to its folder";
    testing_support::ChildProcess tar(
        {"/usr/bin/env", "tar", "--zstd", "-xf", archive.string(), "-C", directory_ / "."},
        directory_ / "tar.log");
    ASSERT_EQ(tar.wait(), 0);
    root_ = fs::path(directory_ / name);
  }

  testing_support::TempDirectory directory_;
  fs::path root_;
};

std::string contentOf(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  EXPECT_TRUE(file) << path;
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

Program readFile(const fs::path& path) {
  const auto owner = std::make_shared<const std::string>(contentOf(path));
  auto program = readProgram(asBytes(*owner), path.filename(), owner);
  if (program) return std::move(*program);
  ADD_FAILURE() << path << ": " << program.error().message;
  return {};
}

// Modules of one file, which lines of "// -----" part.
std::vector<std::string> modulesOf(const std::string& text) {
  std::vector<std::string> modules(1);
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("// -----"))
      modules.emplace_back();
    else
      modules.back() += line + "\n";
  }
  return modules;
}

TEST_F(Archive, EveryCaseIsRead) {
  unpack("stablehlo-cases");
  if (IsSkipped()) return;
  int read = 0;
  for (const auto& entry : fs::recursive_directory_iterator(root_)) {
    if (entry.path().extension() != ".mlir") continue;
    for (const std::string& module : modulesOf(contentOf(entry.path()))) {
      if (module.find("stablehlo.") == std::string::npos) continue;
      auto program = readProgram(asBytes(module), entry.path().filename(), nullptr);
      EXPECT_TRUE(program) << entry.path() << ": " << program.error().message;
      read += program.has_value();
    }
  }
  EXPECT_GT(read, 2000);
}

TEST_F(Archive, EveryFormOfAModelSaysTheSame) {
  unpack("stablehlo-models");
  if (IsSkipped()) return;
  int models = 0;
  for (const auto& entry : fs::directory_iterator(root_)) {
    if (!entry.is_directory()) continue;
    ++models;
    const Program exported = readFile(entry.path() / "model.jax_export");
    EXPECT_EQ(exported.form, "JAX export 10 with StableHLO bytecode 1.15.0") << entry.path();
    const std::string artifact = test::dump(readFile(entry.path() / "model.vhlo.mlirbc"));
    EXPECT_EQ(test::dump(exported), artifact) << entry.path();
    EXPECT_THAT(artifact, Not(HasSubstr(".py"))) << entry.path();
    EXPECT_EQ(test::dump(readFile(entry.path() / "model.mlir")),
              test::dump(readFile(entry.path() / "model.generic.mlir")))
        << entry.path();
  }
  EXPECT_EQ(models, 10);
}

// Of this model the text is that of the exported module, without the names of arguments.
TEST_F(Archive, TextSaysTheSameAsTheArtifact) {
  unpack("stablehlo-models");
  if (IsSkipped()) return;
  Program artifact = readFile(root_ / "encoder_symbolic" / "model.vhlo.mlirbc");
  for (Function& function : artifact.functions)
    for (Argument& argument : function.arguments) argument.name.clear();
  EXPECT_EQ(test::dump(artifact), test::dump(readFile(root_ / "encoder_symbolic" / "model.mlir")));
}

}  // namespace
}  // namespace kiln::stablehlo
