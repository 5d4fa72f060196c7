#include "manifest/base/output_directory.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "tests/support/temp_directory.h"

namespace kiln {
namespace {

namespace fs = std::filesystem;
using testing_support::TempDirectory;

std::string contentOf(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

struct OutputDirectoryTest : testing::Test {
  Status write(const std::string& name, const std::string& text) {
    KILN_ASSIGN(const OutputDirectory out, OutputDirectory::open(path));
    return out.write(name, asBytes(text));
  }
  std::size_t files() const {
    return static_cast<std::size_t>(std::distance(fs::directory_iterator(path), fs::directory_iterator{}));
  }
  TempDirectory scratch;
  std::string path = scratch / "deep/out";
};

TEST_F(OutputDirectoryTest, MakesFoldersAndReplacesFiles) {
  ASSERT_TRUE(write("y.npy", "one"));
  ASSERT_TRUE(write("y.npy", "two"));
  EXPECT_EQ(contentOf(path + "/y.npy"), "two");
  EXPECT_EQ(files(), 1u);
}

TEST_F(OutputDirectoryTest, NothingIsWrittenThroughALink) {
  ASSERT_TRUE(write("other", "x"));
  const std::string victim = scratch / "victim";
  std::ofstream(victim) << "precious";
  fs::create_symlink(victim, path + "/y.npy");
  fs::create_symlink(scratch / "nowhere", path + "/dangling.npy");
  for (const char* name : {"y.npy", "dangling.npy"})
    EXPECT_EQ(write(name, "z").error().code, Code::kAlreadyExists);
  EXPECT_EQ(contentOf(victim), "precious");
  EXPECT_FALSE(fs::exists(scratch / "nowhere"));
  EXPECT_TRUE(fs::is_symlink(path + "/y.npy"));
  EXPECT_EQ(files(), 3u);
}

TEST_F(OutputDirectoryTest, AFifoIsNotWaitedFor) {
  ASSERT_TRUE(write("other", "x"));
  ASSERT_EQ(::mkfifo((path + "/y.npy").c_str(), 0666), 0);
  EXPECT_EQ(write("y.npy", "z").error().code, Code::kAlreadyExists);
}

TEST_F(OutputDirectoryTest, ALinkForTheFolderIsRefused) {
  fs::create_directories(scratch / "elsewhere");
  fs::create_directories(scratch / "deep");
  fs::create_directory_symlink(scratch / "elsewhere", path);
  for (const char* end : {"", "/", "//"}) {
    const auto refused = OutputDirectory::open(path + end);
    ASSERT_FALSE(refused) << end;
    EXPECT_EQ(refused.error().code, Code::kInvalidArgument);
  }
  std::ofstream(scratch / "file") << "x";
  EXPECT_FALSE(OutputDirectory::open(scratch / "file"));
}

TEST_F(OutputDirectoryTest, AFolderPutInItsPlaceGetsNothing) {
  const OutputDirectory out = OutputDirectory::open(path).value();
  fs::rename(path, scratch / "moved");
  fs::create_directories(scratch / "elsewhere");
  fs::create_directory_symlink(scratch / "elsewhere", path);
  ASSERT_TRUE(out.write("y.npy", asBytes("z")));
  EXPECT_TRUE(fs::exists(scratch / "moved/y.npy"));
  EXPECT_TRUE(fs::is_empty(scratch / "elsewhere"));
}

// What a kill left of a file goes with the next one, and nobody takes it for a result.
TEST_F(OutputDirectoryTest, NothingHalfMadeStays) {
  ASSERT_TRUE(write("y.npy", "one"));
  fs::create_directory(path + "/.kiln.partial-abcdef");
  std::ofstream(path + "/.kiln.partial-abcdef/y.npy") << "half";
  ASSERT_TRUE(write("y.npy", "two"));
  EXPECT_EQ(contentOf(path + "/y.npy"), "two");
  EXPECT_EQ(files(), 1u);
  ASSERT_TRUE(write(std::string(255, 'n'), "the longest name")) << "that there is";
  EXPECT_EQ(files(), 2u);
}

TEST_F(OutputDirectoryTest, OthersMayNotWriteWhateverTheUmask) {
  const mode_t before = ::umask(0);
  ASSERT_TRUE(write("y.npy", "x"));
  ::umask(before);
  for (const std::string& one : {scratch / "deep", path, path + "/y.npy"}) {
    struct stat facts{};
    ASSERT_EQ(::stat(one.c_str(), &facts), 0);
    EXPECT_EQ(facts.st_mode & 022, 0u) << one;
  }
}

}  // namespace
}  // namespace kiln
