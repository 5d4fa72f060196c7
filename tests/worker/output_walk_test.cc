// The walk over what foreign programs left: links are text, names are UTF-8, and nothing is followed.
#include "worker/sandbox/output_walk.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "worker/sandbox/outputs.h"

namespace kiln::sandbox {
namespace {

using testing::HasSubstr;

class OutputWalkTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = testing::TempDir() + "kiln-walk-XXXXXX";
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    dir_ = pattern;
  }
  void TearDown() override { EXPECT_TRUE(removeTree(dir_)); }

  void put(const std::string& path, const std::string& text) { std::ofstream(dir_ + "/" + path) << text; }
  void makeDir(const std::string& path) { ASSERT_EQ(mkdir((dir_ + "/" + path).c_str(), 0755), 0); }
  void link(const std::string& target, const std::string& path) {
    ASSERT_EQ(symlink(target.c_str(), (dir_ + "/" + path).c_str()), 0);
  }

  static OutputWalk::Visit writeTo(std::string& seen) {
    return [&seen](const OutputEntry& entry) -> Status {
      seen += "[" + entry.path;
      if (entry.kind == OutputKind::kDirectory) seen += "/";
      if (entry.kind == OutputKind::kSymlink) seen += " -> " + entry.target;
      if (entry.kind == OutputKind::kFile) {
        std::string text(entry.size, '\0');
        EXPECT_EQ(read(entry.fd, text.data(), text.size()), static_cast<ssize_t>(text.size()));
        seen += (entry.executable ? "* " : " ") + text;
      }
      seen += "]";
      return {};
    };
  }
  // What stands at `path`, "nothing", or the error's message.
  std::string at(const std::string& path) {
    auto walk = OutputWalk::open(dir_, limits_, OutputForm::kForeign);
    if (!walk) return walk.error().message;
    std::string seen;
    const auto found = walk->at(path, writeTo(seen));
    if (!found) return found.error().message;
    return *found ? seen : "nothing";
  }

  std::string dir_;
  Limits limits_;
};

TEST_F(OutputWalkTest, FilesDirectoriesAndLinksAreVisitedFromAbove) {
  makeDir("out");
  makeDir("out/empty");
  put("out/tool", "t");
  ASSERT_EQ(chmod((dir_ + "/out/tool").c_str(), 0755), 0);
  link("tool", "out/alias");
  link("../../etc/passwd", "out/outside");
  put("other", "o");
  EXPECT_EQ(at("out"), "[out/][out/alias -> tool][out/empty/][out/outside -> ../../etc/passwd][out/tool* t]");
  EXPECT_EQ(at("out/tool"), "[out/tool* t]");
  EXPECT_EQ(at("out/empty"), "[out/empty/]");
  EXPECT_EQ(at("out/alias"), "[out/alias -> tool]");
  EXPECT_THAT(at(""), HasSubstr("[/][other o][out/]"));
}

TEST_F(OutputWalkTest, WhatIsNotThereIsNoError) {
  put("file", "x");
  EXPECT_EQ(at("absent"), "nothing");
  EXPECT_EQ(at("absent/below"), "nothing");
  EXPECT_EQ(at("file/below"), "nothing");
}

TEST_F(OutputWalkTest, NoLinkIsFollowedAboveAnOutput) {
  makeDir("real");
  put("real/secret", "x");
  link("/etc", "etc");
  link("real", "alias");
  EXPECT_EQ(at("etc/passwd"), "output etc/passwd: etc above it is a symbolic link, which is not followed");
  EXPECT_EQ(at("alias/secret"),
            "output alias/secret: alias above it is a symbolic link, which is not followed");
  link("/etc/passwd", "passwd");
  EXPECT_EQ(at("passwd"), "[passwd -> /etc/passwd]");
}

TEST_F(OutputWalkTest, AFileWithTwoNamesIsTwoFiles) {
  makeDir("d");
  put("d/one", "x");
  ASSERT_EQ(::link((dir_ + "/d/one").c_str(), (dir_ + "/d/two").c_str()), 0);
  EXPECT_EQ(at("d"), "[d/][d/one x][d/two x]");
}

TEST_F(OutputWalkTest, PipesSocketsAndClosedEntriesAreNamedAndRefused) {
  ASSERT_EQ(mkfifo((dir_ + "/pipe").c_str(), 0644), 0);
  EXPECT_EQ(at("pipe"),
            "output pipe is a FIFO; only regular files, directories and symbolic links are collected");
  const int fd = socket(AF_UNIX, SOCK_STREAM, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  (dir_ + "/s").copy(address.sun_path, sizeof address.sun_path - 1);
  ASSERT_EQ(bind(fd, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  close(fd);
  EXPECT_THAT(at("s"), HasSubstr("output s is a socket"));
  put("closed", "x");
  ASSERT_EQ(chmod((dir_ + "/closed").c_str(), 0), 0);
  EXPECT_EQ(at("closed"), "output closed: its mode keeps its own user out; refused");
  makeDir("shut");
  ASSERT_EQ(chmod((dir_ + "/shut").c_str(), 0), 0);
  EXPECT_EQ(at("shut"), "output shut: its mode keeps its own user out; refused");
  EXPECT_EQ(at("shut/below"), "output shut/below: a directory above it keeps its own user out");
}

TEST_F(OutputWalkTest, NamesAndTargetsAreTextWithoutControlCharacters) {
  makeDir("d");
  put("d/na\xc3\xafve \"name\"", "x");
  EXPECT_EQ(at("d"), "[d/][d/na\xc3\xafve \"name\" x]");
  for (const std::string bad : {"new\nline", "bell\x07", "\xff\xfe", "del\x7f"}) {
    put("d/" + bad, "x");
    EXPECT_THAT(at("d"), HasSubstr("the name is not UTF-8 without control characters"));
    ASSERT_EQ(unlink((dir_ + "/d/" + bad).c_str()), 0);
    link(bad, "d/link");
    EXPECT_THAT(at("d"), HasSubstr("is a symbolic link whose target is not UTF-8"));
    ASSERT_EQ(unlink((dir_ + "/d/link").c_str()), 0);
  }
  link(std::string(4095, 'a'), "d/long");
  EXPECT_THAT(at("d"), HasSubstr("d/long -> aaaa"));
}

TEST_F(OutputWalkTest, TheLimitsHoldForAllOutputsTogether) {
  put("a", "123");
  put("b", "456");
  limits_.outputBytes = 5;
  auto walk = OutputWalk::open(dir_, limits_, OutputForm::kForeign);
  ASSERT_TRUE(walk);
  std::string seen;
  EXPECT_TRUE(walk->at("a", writeTo(seen)));
  EXPECT_EQ(walk->at("b", writeTo(seen)).error().message, "output: more than 5 bytes in all");
  limits_ = {};
  limits_.outputFiles = 1;
  walk = OutputWalk::open(dir_, limits_, OutputForm::kForeign);
  EXPECT_TRUE(walk->at("a", writeTo(seen)));
  EXPECT_EQ(walk->at("b", writeTo(seen)).error().message, "output: more than 1 files and directories");
  limits_ = {};
  limits_.outputDepth = 2;
  std::filesystem::create_directories(dir_ + "/1/2/3");
  EXPECT_EQ(at("1"), "output: more than 2 levels of directories");
  EXPECT_EQ(at("1/2/3"), "output: more than 2 levels of directories");
}

TEST_F(OutputWalkTest, WhatWasThereBeforeDoesNotCount) {
  put("input", "12345");
  makeDir("d");
  limits_.outputFiles = 1;
  limits_.outputBytes = 3;
  EXPECT_FALSE(checkOutputUse(dir_, limits_));
  const Use before{2, 5};
  EXPECT_TRUE(checkOutputUse(dir_, limits_, 0, before));
  put("d/new", "123");
  EXPECT_TRUE(checkOutputUse(dir_, limits_, 0, before));
  EXPECT_EQ(checkOutputUse(dir_, limits_, 1, before).error().message, "output: more than 3 bytes in all");
  put("d/newer", "");
  EXPECT_EQ(checkOutputUse(dir_, limits_, 0, before).error().message,
            "output: more than 1 files and directories");
}

}  // namespace
}  // namespace kiln::sandbox
