#include "manifest/base/durable_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "manifest/base/file.h"
#include "tests/support/temp_directory.h"

namespace kiln {
namespace {

unsigned modeOf(const std::string& path) {
  struct stat status{};
  EXPECT_EQ(::lstat(path.c_str(), &status), 0);
  return status.st_mode & 07777;
}

TEST(DurableFile, ANewOneIsNotWrittenOverAnother) {
  const testing_support::TempDirectory directory;
  const std::string path = directory / "key";
  ASSERT_TRUE(writeNewFile(path, "first", 0600));
  EXPECT_EQ(modeOf(path), 0600u);
  EXPECT_EQ(writeNewFile(path, "second", 0600).error().code, Code::kAlreadyExists);
  EXPECT_EQ(readRegular(path, 16).value(), "first");
}

TEST(DurableFile, AReplacedOneHasTheModeOfTheNewOne) {
  const testing_support::TempDirectory directory;
  const std::string path = directory / "state";
  ASSERT_TRUE(replaceFile(path, "first", 0600));
  EXPECT_EQ(modeOf(path), 0600u);
  ASSERT_TRUE(replaceFile(path, "second", 0400));
  EXPECT_EQ(modeOf(path), 0400u);
  EXPECT_EQ(readRegular(path, 16).value(), "second");
  EXPECT_FALSE(std::filesystem::exists(path + ".new"));
}

// Whatever somebody has laid where the next version is written.
TEST(DurableFile, WhatIsReplacedIsAFileOfOurOwn) {
  const testing_support::TempDirectory directory;
  const std::string path = directory / "checkpoint", fresh = path + ".new", other = directory / "other";
  ASSERT_TRUE(writeNewFile(other, "theirs", 0644));
  const auto replaced = [&] {
    ASSERT_TRUE(replaceFile(path, "ours"));
    EXPECT_EQ(readRegular(path, 16).value(), "ours");
    EXPECT_EQ(readRegular(other, 16).value(), "theirs");
    struct stat status{};
    ASSERT_EQ(::lstat(path.c_str(), &status), 0);
    EXPECT_TRUE(S_ISREG(status.st_mode));
    EXPECT_EQ(status.st_nlink, 1u);
    EXPECT_EQ(status.st_mode & 0022, 0u);
  };
  ASSERT_EQ(::mkfifo(fresh.c_str(), 0666), 0);
  replaced();
  ASSERT_EQ(::symlink(other.c_str(), fresh.c_str()), 0);
  replaced();
  ASSERT_EQ(::link(other.c_str(), fresh.c_str()), 0);
  replaced();
}

}  // namespace
}  // namespace kiln
