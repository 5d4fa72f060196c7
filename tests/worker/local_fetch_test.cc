// kiln-fetcher on repositories of its own machine: what kiln build starts for git+file://.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "manifest/base/run_program.h"
#include "manifest/json/error_line.h"
#include "tests/support/git_fixture.h"

namespace kiln::fetcher {
namespace {

using testing::HasSubstr;
using testing_support::GitFixture;

// A length-delimited protobuf field; everything here is shorter than 128 bytes.
std::string field(int number, const std::string& bytes) {
  return std::string(1, static_cast<char>(number << 3 | 2)) + static_cast<char>(bytes.size()) + bytes;
}
// An ONNX model with one initializer whose bytes are at `location`.
std::string modelWithDataAt(const std::string& location) {
  const std::string tensor =
      field(13, field(1, "location") + field(2, location)) + std::string("\x70\x01", 2);
  return field(7, field(5, tensor));
}

class LocalFetch : public testing::Test {
 protected:
  ProgramRun fetch(const std::string& repository, const std::string& commit,
                   const std::vector<std::string>& more = {}, const std::string& path = "nets/m.onnx") {
    std::filesystem::remove_all(out_ / "out");
    std::filesystem::create_directory(out_ / "out");
    std::vector<std::string> words = {KILN_TEST_FETCHER, "--repository=" + repository, "--commit=" + commit,
                                      "--path=" + path, "--out=" + (out_ / "out")};
    words.insert(words.end(), more.begin(), more.end());
    const auto ran =
        runProgram(words, {.limit = std::chrono::minutes(2), .standardError = StandardError::kKept});
    if (ran) return *ran;
    ADD_FAILURE() << ran.error().message;
    return {};
  }
  std::string written(const std::string& name) {
    std::stringstream text;
    text << std::ifstream(out_ / ("out/" + name)).rdbuf();
    return text.str();
  }
  bool wroteNothing() { return std::filesystem::is_empty(out_ / "out"); }

  GitFixture git_;
  testing_support::TempDirectory out_;
};

TEST_F(LocalFetch, WritesTheModelAndItsDataWithoutAnythingElseOfTheSystem) {
  git_.add("nets/m.onnx", modelWithDataAt("w/1.bin"));
  git_.add("nets/w/1.bin", "weights");
  const std::string commit = git_.commit();
  git_.git("worktree add -q ../tree HEAD");
  const std::string tree = std::filesystem::path(git_.directory()).parent_path() / "tree";
  for (const bool packed : {false, true}) {
    if (packed) git_.git("gc -q");
    for (const std::string& repository : {git_.directory(), git_.directory() + "/.git", tree}) {
      const auto ran = fetch(repository, commit);
      EXPECT_EQ(ran.exitCode, 0) << ran.err;
      EXPECT_EQ(written("nets/m.onnx"), "");
      EXPECT_EQ(written("m.onnx"), modelWithDataAt("w/1.bin"));
      EXPECT_EQ(written("w/1.bin"), "weights");
    }
  }
}

TEST_F(LocalFetch, OfAFolderTheModelWithItsData) {
  git_.add("nets/onnx/m.onnx", modelWithDataAt("w.bin"));
  git_.addLarge("nets/onnx/w.bin", "weights");
  git_.add("nets/config.json", "{}");
  const std::string commit = git_.commit();
  const auto ran = fetch(git_.directory(), commit, {}, "nets");
  EXPECT_EQ(ran.exitCode, 0) << ran.err;
  EXPECT_EQ(written("model/onnx/m.onnx"), modelWithDataAt("w.bin"));
  EXPECT_EQ(written("data/w.bin"), "weights");
  EXPECT_EQ(written("config.json"), "");
  const auto whole = fetch(git_.directory(), commit, {}, ".");
  EXPECT_THAT(whole.err, HasSubstr("no model in this folder")) << "folders in it are not searched";
  EXPECT_EQ(whole.exitCode, 6);
}

// What is taken is decided by what lies there, so that nothing there may lead elsewhere.
TEST_F(LocalFetch, LinksAndSubmodulesInAFolderAreNamed) {
  git_.add("links/m.onnx", "x");
  git_.add("links/onnx/m.onnx", "x");
  git_.git("update-index --add --cacheinfo 120000," + git_.git("hash-object -w --stdin </dev/null") +
           ",links/up.mlir");
  git_.add("modules/m.onnx", "x");
  const std::string first = git_.commit();
  git_.git("update-index --add --cacheinfo 160000," + first + ",modules/sub");
  git_.git("update-index --add --cacheinfo 120000," + git_.git("hash-object -w --stdin </dev/null") +
           ",alone");
  const std::string commit = git_.commit();
  const std::pair<const char*, const char*> refused[] = {
      {"links", "'links/up.mlir' in the repository is a symbolic link"},
      {"modules", "'modules/sub' in the repository is a submodule"},
      {"alone", "'alone' in the repository is a symbolic link"}};
  for (const auto& [folder, message] : refused) {
    const auto ran = fetch(git_.directory(), commit, {}, folder);
    EXPECT_EQ(ran.exitCode, 2);
    EXPECT_THAT(ran.err, HasSubstr(message));
    EXPECT_TRUE(wroteNothing());
  }
  EXPECT_EQ(fetch(git_.directory(), commit, {}, "links/m.onnx").exitCode, 0) << "a file is not its folder";
}

TEST_F(LocalFetch, ObjectsOfGitLfsComeFromTheRepository) {
  git_.addLarge("nets/m.onnx", modelWithDataAt("w/1.bin"));
  const Digest data = git_.addLarge("nets/w/1.bin", "weights");
  const std::string commit = git_.commit();
  git_.git("worktree add -q ../tree HEAD");
  const std::string tree = std::filesystem::path(git_.directory()).parent_path() / "tree";
  for (const std::string& repository : {git_.directory(), tree}) {
    const auto ran = fetch(repository, commit);
    EXPECT_EQ(ran.exitCode, 0) << ran.err;
    EXPECT_EQ(written("m.onnx"), modelWithDataAt("w/1.bin"));
    EXPECT_EQ(written("w/1.bin"), "weights");
  }
  std::ofstream(git_.largeObject(data)) << "WEIGHTS";
  EXPECT_EQ(fetch(git_.directory(), commit).exitCode, 5);
  std::filesystem::remove(git_.largeObject(data));
  const auto absent = fetch(git_.directory(), commit);
  EXPECT_EQ(absent.exitCode, 6);
  EXPECT_THAT(absent.err, HasSubstr("nets/w/1.bin"));
  EXPECT_THAT(absent.err, HasSubstr("git lfs fetch"));
}

TEST_F(LocalFetch, RefusalsHaveTheirExitCodes) {
  git_.add("nets/m.onnx", modelWithDataAt("../../etc/passwd"));
  git_.add("nets/lacks.onnx", modelWithDataAt("w.bin"));
  const std::string commit = git_.commit();
  const auto code = [&](const std::string& id, const std::string& path) {
    const auto ran = fetch(git_.directory(), id, {}, path);
    EXPECT_TRUE(readErrorLine(ran.err)) << ran.err;
    return ran.exitCode;
  };
  EXPECT_EQ(code(commit, "nets/m.onnx"), 3);
  EXPECT_EQ(code(commit, "nets/lacks.onnx"), 6);
  EXPECT_EQ(code(commit, "absent.onnx"), 6);
  EXPECT_EQ(code("main", "nets/m.onnx"), 2);
  EXPECT_EQ(code("-x", "nets/m.onnx"), 2);
  EXPECT_EQ(fetch("/nonexistent", commit).exitCode, 6);
  EXPECT_EQ(fetch(git_.directory(), commit, {"--url=https://git.example.org/m"}).exitCode, 2);
}

TEST_F(LocalFetch, ObjectsThatAreNotTheirHashAreNotWritten) {
  git_.add("nets/m.onnx", "one");
  git_.add("other", "two");
  const std::string commit = git_.commit();
  const auto file = [&](const std::string& path) {
    const std::string id = git_.git("rev-parse HEAD:" + path);
    return git_.directory() + "/.git/objects/" + id.substr(0, 2) + "/" + id.substr(2);
  };
  std::filesystem::rename(file("other"), file("nets/m.onnx"));
  const auto ran = fetch(git_.directory(), commit);
  EXPECT_EQ(ran.exitCode, 5) << ran.err;
  EXPECT_THAT(ran.err, HasSubstr("nets/m.onnx: object hash mismatch"));
  EXPECT_TRUE(wroteNothing());
}

TEST_F(LocalFetch, DeltasWithoutEndAreEndedByTheTimeThatAFileHas) {
  for (const char* count : {"1", "2"}) {
    const std::string directory = out_ / (std::string("endless") + count);
    const auto made = runProgram({"/usr/bin/python3", KILN_TEST_ENDLESS_PACK, directory, count}, {});
    ASSERT_TRUE(made && made->exitCode == 0);
    const auto ran = fetch(directory, made->out.substr(0, 40), {"--file-seconds=1"}, "m.onnx");
    EXPECT_EQ(ran.signal, SIGPROF) << ran.exitCode << " " << ran.err;
    EXPECT_TRUE(wroteNothing());
  }
}

// A link in the repository does not widen what is read.
TEST_F(LocalFetch, FilesOutsideTheRepositoryAreNotRead) {
  git_.add("nets/m.onnx", "one");
  const std::string commit = git_.commit();
  const std::string id = git_.git("rev-parse HEAD:nets/m.onnx");
  const std::string file = git_.directory() + "/.git/objects/" + id.substr(0, 2) + "/" + id.substr(2);
  std::filesystem::rename(file, out_ / "elsewhere");
  std::filesystem::create_symlink(out_ / "elsewhere", file);
  const auto ran = fetch(git_.directory(), commit);
  if (ran.exitCode == 0) GTEST_SKIP() << "no Landlock in this kernel, or none in this build";
  EXPECT_EQ(ran.exitCode, 8) << ran.err;
  EXPECT_TRUE(wroteNothing());
}

}  // namespace
}  // namespace kiln::fetcher
