#include "manifest/base/scratch_directory.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <thread>

#include "tests/support/temp_directory.h"

namespace kiln {
namespace {

namespace fs = std::filesystem;

struct ScratchTest : testing::Test {
  const testing_support::TempDirectory directory;
  const std::string prefix = directory / "kiln-x-";

  // The name of what a process that was killed has left.
  std::string left() const {
    int told[2];
    EXPECT_EQ(::pipe(told), 0);
    const pid_t child = ::fork();
    if (child == 0) {
      const auto scratch = ScratchDirectory::make(prefix);
      std::ofstream(scratch->path() + "/weights") << "many";
      (void)!::write(told[1], scratch->path().data(), scratch->path().size());
      ::_exit(0);  // no destructors
    }
    ::waitpid(child, nullptr, 0);
    std::string path(4096, '\0');
    path.resize(static_cast<std::size_t>(::read(told[0], path.data(), path.size())));
    ::close(told[0]);
    ::close(told[1]);
    return path;
  }
};

TEST_F(ScratchTest, GoesWithItsOwner) {
  std::string path;
  {
    const auto scratch = ScratchDirectory::make(prefix);
    ASSERT_TRUE(scratch) << scratch.error().message;
    path = scratch->path();
    struct stat facts{};
    ASSERT_EQ(::stat(path.c_str(), &facts), 0);
    EXPECT_EQ(facts.st_mode & 07777, 0700u);
    std::ofstream(path + "/file") << "text";
  }
  EXPECT_FALSE(fs::exists(path));
}

TEST_F(ScratchTest, WhatIsKeptStays) {
  const std::string kept = directory / "kept";
  {
    auto scratch = ScratchDirectory::make(prefix);
    std::ofstream(scratch->path() + "/file") << "text";
    ASSERT_TRUE(scratch->moveTo(kept));
  }
  EXPECT_TRUE(fs::exists(kept));
}

TEST_F(ScratchTest, AllOrNoneOfItGetsPlacesOfItsOwn) {
  const auto scratch = ScratchDirectory::make(prefix);
  ASSERT_TRUE(scratch);
  for (const char* name : {"a", "b", "c"}) std::ofstream(scratch->path() + "/" + name) << name;
  fs::create_directory(directory / "to");
  std::ofstream(directory / "to/b") << "in the way";
  const Status refused = scratch->moveOut({"a", "b", "c"}, directory / "to");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kAlreadyExists);
  EXPECT_NE(refused.error().message.find(directory / "to/b"), std::string::npos) << refused.error().message;
  EXPECT_EQ(fs::file_size(directory / "to/b"), 10u);
  EXPECT_FALSE(fs::exists(directory / "to/a"));
  EXPECT_TRUE(fs::exists(scratch->path() + "/a"));
  fs::remove(directory / "to/b");
  ASSERT_TRUE(scratch->moveOut({"a", "b", "c"}, directory / "to"));
  for (const char* name : {"a", "b", "c"}) EXPECT_TRUE(fs::exists(directory / ("to/" + std::string(name))));
}

// As a compiler's input tree is, when whoever interrupts is not root.
TEST_F(ScratchTest, WhatItsFoldersForbidIsRemovedToo) {
  const pid_t child = ::fork();
  if (child == 0) {
    (void)!::chmod(directory.path().c_str(), 0777);
    if (::geteuid() == 0 && ::setuid(65534) != 0) ::_exit(2);
    {
      const auto scratch = ScratchDirectory::make(prefix);
      fs::create_directories(scratch->path() + "/tree/below");
      std::ofstream(scratch->path() + "/tree/below/file") << "text";
      for (const char* each : {"/tree/below", "/tree", ""}) ::chmod((scratch->path() + each).c_str(), 0555);
    }
    ::_exit(fs::is_empty(directory.path()) ? 0 : 1);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
}

TEST_F(ScratchTest, ASignalLeavesNoneAndHarmsNoneThatHasItsName) {
  const std::string kept = directory / "kept";
  const pid_t child = ::fork();
  if (child == 0) {
    auto first = ScratchDirectory::make(prefix), second = ScratchDirectory::make(prefix),
         third = ScratchDirectory::make(prefix);
    for (const auto* each : {&first, &second, &third}) std::ofstream((*each)->path() + "/file") << "text";
    const bool moved = third->moveTo(kept).has_value();
    std::thread([] { ScratchDirectory::removeAllAndStop(); }).join();
    ::_exit(moved ? 0 : 1);  // as a signal would end it: no destructors
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(directory.path())) names.push_back(entry.path().filename());
  EXPECT_EQ(names, std::vector<std::string>{"kept"});
  EXPECT_TRUE(fs::exists(kept + "/file"));
}

TEST_F(ScratchTest, WhatAKilledOwnerLeftGoesWithTheNext) {
  const std::string before = left();
  ASSERT_TRUE(fs::exists(before + "/weights"));
  const auto next = ScratchDirectory::make(prefix);
  ASSERT_TRUE(next);
  EXPECT_FALSE(fs::exists(before));
}

TEST_F(ScratchTest, OthersAreLeftAlone) {
  const auto mine = ScratchDirectory::make(prefix);
  const std::string before = left();
  for (const char* name : {"kiln-x-short", "kiln-x-muchlonger", "kiln-y-abcdef"})
    fs::create_directory(directory / name);
  std::ofstream(directory / "kiln-x-afile1") << "no directory";
  fs::create_directory(directory / "elsewhere");
  std::ofstream(directory / "elsewhere/file") << "text";
  fs::create_directory_symlink(directory / "elsewhere", directory / "kiln-x-alink1");
  fs::rename(before, directory / "elsewhere/kiln-x-aaaaaa");
  const auto next = ScratchDirectory::make(prefix);
  for (const std::string& path :
       {mine->path(), directory / "kiln-x-short", directory / "kiln-x-muchlonger",
        directory / "kiln-y-abcdef", directory / "kiln-x-afile1", directory / "kiln-x-alink1",
        directory / "elsewhere/file", directory / "elsewhere/kiln-x-aaaaaa/weights"})
    EXPECT_TRUE(fs::exists(path)) << path;
}

TEST_F(ScratchTest, ManyAtOnceKeepTheirOwn) {
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i)
    threads.emplace_back([&] {
      for (int turn = 0; turn < 50; ++turn) {
        const auto scratch = ScratchDirectory::make(prefix);
        ASSERT_TRUE(scratch) << scratch.error().message;
        std::ofstream(scratch->path() + "/file") << "text";
        ASSERT_TRUE(fs::exists(scratch->path() + "/file"));
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_TRUE(fs::is_empty(directory.path()));
}

TEST_F(ScratchTest, AFolderThatIsNotThereIsNamed) {
  const auto none = ScratchDirectory::make(directory / "nowhere/kiln-x-");
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code, Code::kNotFound);
  EXPECT_NE(none.error().message.find(directory / "nowhere"), std::string::npos) << none.error().message;
}

}  // namespace
}  // namespace kiln
