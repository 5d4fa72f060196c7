// `kiln run --isolated`: the same results, and a program that lies about making no system calls gets nothing.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstring>
#include <filesystem>
#include <fstream>

#include "tests/api/cli/signed_program.h"

namespace kiln {
namespace {

using runtime::test::expectedOutput;
using runtime::test::floats;
using runtime::test::kColumns;
using runtime::test::kRows;
using runtime::test::sampleInput;

using Isolated = testing_support::SignedProgram;

TEST_F(Isolated, GivesWhatAnOrdinaryRunGives) {
  const std::vector<std::string> run = {"run",          artifact.path(), "--input",   "x=x.npy",
                                        "--output-dir", "out",           "--threads", "2"};
  auto isolated = run;
  isolated.emplace_back("--isolated");
  const auto plain = kiln(run);
  ASSERT_EQ(plain.exit, 0) << plain.err;
  std::filesystem::remove_all(directory / "out");
  const auto result = kiln(isolated);
  ASSERT_EQ(result.exit, 0) << result.err;
  EXPECT_EQ(result.out, plain.out);
  const auto y = npy::read(directory / "out/y.npy");
  ASSERT_TRUE(y) << y.error().message;
  EXPECT_EQ(*y, floats({kRows, kColumns}, expectedOutput(sampleInput())));
  isolated.emplace_back("--json");
  const auto json = parseJson(kiln(isolated).out);
  ASSERT_TRUE(json);
  EXPECT_EQ(json->at("outputs").at(0).at("name"), "y");
  EXPECT_FALSE(json->contains("counters")) << "they would be the program's word";
}

// Under root the program is another user, who reads by the rights of others.
TEST_F(Isolated, AnyUmaskWillDo) {
  for (const mode_t mask : {0, 022, 027, 077}) {
    const mode_t before = ::umask(mask);
    const auto result = kiln({"run", artifact.path(), "--isolated", "--input", "x=x.npy"});
    ::umask(before);
    EXPECT_EQ(result.exit, 0) << mask << result.err;
  }
}

TEST_F(Isolated, TheFolderForTemporaryFilesIsNamedWhereItIsNone) {
  const std::vector<std::string> run = {"run", artifact.path(), "--isolated", "--input", "x=x.npy"};
  std::ofstream(directory / "file") << "no folder";
  for (const std::string& folder : {directory / "none", directory / "file"}) {
    environment["TMPDIR"] = folder;
    const auto result = kiln(run);
    EXPECT_EQ(result.exit, 2) << result.err;
    EXPECT_NE(result.err.find(folder), std::string::npos) << result.err;
    EXPECT_NE(result.err.find("TMPDIR"), std::string::npos) << result.err;
  }
  std::filesystem::create_directory(directory / "relative");
  environment["TMPDIR"] = "relative";
  EXPECT_EQ(kiln(run).exit, 0);
}

TEST_F(Isolated, EachElementAndErrorsAreTheSameToo) {
  std::vector<float> three;
  for (int i = 0; i < 3; ++i)
    for (const float value : sampleInput()) three.push_back(value + static_cast<float>(i));
  save("three.npy", floats({3, kRows, kColumns}, three));
  const auto each =
      kiln({"run", artifact.path(), "--isolated", "--input", "x=three.npy", "--each", "--output-dir", "out"});
  ASSERT_EQ(each.exit, 0) << each.err;
  const auto y = npy::read(directory / "out/y.npy");
  ASSERT_TRUE(y) << y.error().message;
  EXPECT_EQ(*y, floats({3, kRows, kColumns}, expectedOutput(three)));

  save("two.npy", floats({2, kColumns}, std::vector<float>(2 * kColumns)));
  const std::vector<std::string> outside = {"run", artifact.path(), "--input", "x=two.npy"};
  auto isolated = outside;
  isolated.emplace_back("--isolated");
  const auto plain = kiln(outside), apart = kiln(isolated);
  EXPECT_NE(apart.err.find("N is 2; profile default takes N = 8"), std::string::npos) << apart.err;
  EXPECT_EQ(apart.exit, plain.exit);
  EXPECT_EQ(kiln({"run", artifact.path(), "--isolated", "--profile", "--input", "x=x.npy"}).exit, 2);
}

// A signed artifact whose program does what none of kiln-cc does.
struct LyingArtifact : runtime::test::TestArtifact {
  explicit LyingArtifact(const char* program = "syscalls") : TestArtifact(program) {
    manifest.symbols.clear();
    manifest.inputs = {{"x", DType::kF32, {kRows, kColumns}, {}}};
    manifest.outputs = {{"y", DType::kF32, {4}, {}}};
    manifest.spec.profiles = {{"default", {}}};
    manifest.profiles = {{"default", 0, 0}};
    manifest.weights.clear();
    writeManifest();
  }
};
struct CrashingArtifact : LyingArtifact {
  CrashingArtifact() : LyingArtifact("syscalls_crash") {}
};
using Liar = testing_support::SignedProgramOf<LyingArtifact>;
using Crasher = testing_support::SignedProgramOf<CrashingArtifact>;

TEST_F(Liar, GetsNothingFromTheKernel) {
#ifndef __x86_64__
  GTEST_SKIP() << "the program makes its system calls on x86-64";
#endif
  const auto results = [&](std::vector<std::string> more) {
    std::filesystem::remove_all(directory / "out");
    std::vector<std::string> arguments = {"run",     artifact.path(), "--input",
                                          "x=x.npy", "--output-dir",  "out"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const auto ran = kiln(arguments);
    EXPECT_EQ(ran.exit, 0) << ran.err;
    const auto y = npy::read(directory / "out/y.npy");
    return y ? runtime::test::valuesOf(*y) : std::vector<float>{};
  };
  const auto plain = results({});
  ASSERT_EQ(plain.size(), 4u);
  EXPECT_GE(plain[0], 0) << "without isolation a program has the rights of its process";
  EXPECT_GE(plain[1], 0);
  EXPECT_EQ(plain[3], -ENOENT);
  const auto isolated = results({"--isolated"});
  ASSERT_EQ(isolated.size(), 4u);
  EXPECT_EQ(isolated[0], -ENOENT) << "no file of the host";
  EXPECT_EQ(isolated[1], -ENOSYS) << "no sockets";
  EXPECT_EQ(isolated[2], 0) << "the only process 1 that it can name is itself";
  EXPECT_EQ(isolated[3], -ENOENT) << "and no shell";
}

TEST_F(Crasher, EndsItsOwnProcessAlone) {
  const std::vector<std::string> run = {"run", artifact.path(), "--input", "x=x.npy"};
  EXPECT_GT(kiln(run).exit, 128) << "without isolation it takes the process along";
  auto isolated = run;
  isolated.emplace_back("--isolated");
  const auto result = kiln(isolated);
  EXPECT_EQ(result.exit, 1) << result.err;
  EXPECT_EQ(result.err,
            "kiln: error: the program was ended by signal 11 (SIGSEGV) in its process; nothing else was "
            "touched\n");
}

}  // namespace
}  // namespace kiln
