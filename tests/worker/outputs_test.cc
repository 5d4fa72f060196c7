// Collecting and removing trees that a hostile tool made, tried without a sandbox in between.
#include "worker/sandbox/outputs.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <random>
#include <thread>

#include "manifest/base/file.h"
#include "worker/sandbox/bounded_log.h"

namespace kiln::sandbox {
namespace {

using testing::HasSubstr;

class Outputs : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = testing::TempDir() + "kiln-outputs-XXXXXX";
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    dir_ = pattern;
  }
  void TearDown() override {
    EXPECT_TRUE(removeTree(dir_));
    EXPECT_NE(access(dir_.c_str(), F_OK), 0);
  }

  void put(const std::string& path, const std::string& text) { std::ofstream(dir_ + "/" + path) << text; }
  void makeDir(const std::string& path) { ASSERT_EQ(mkdir((dir_ + "/" + path).c_str(), 0755), 0); }

  // The visited paths, or the error's message.
  std::string visit() {
    std::string seen;
    const Status status = visitOutputs(dir_, limits_, [&](const OutputFile& file) {
      std::string text(file.size, '\0');
      EXPECT_EQ(read(file.fd, text.data(), text.size()), static_cast<ssize_t>(text.size()));
      seen += file.path + (file.executable ? "*" : "") + "=" + text + " ";
      return Status{};
    });
    return status ? seen : status.error().message;
  }

  // What `body` returns in a process of its own.
  template <class F>
  static int inChild(F body) {
    const pid_t child = fork();
    if (child == 0) _exit(body());
    int status = 0;
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }

  std::string dir_;
  Limits limits_;
};

TEST_F(Outputs, FilesInByteOrderWithTheirExecutableBit) {
  makeDir("weights");
  put("weights/0001.bin", "w");
  put("program.so", "p");
  put("a-z", "1");
  put("a", "2");
  ASSERT_EQ(chmod((dir_ + "/program.so").c_str(), 04755), 0);
  makeDir("empty");
  EXPECT_EQ(visit(), "a=2 a-z=1 program.so*=p weights/0001.bin=w ");
}

TEST_F(Outputs, Case18LinksFifosSocketsAndDevicesAreNamedAndRefused) {
  ASSERT_EQ(symlink("/etc/passwd", (dir_ + "/link").c_str()), 0);
  EXPECT_EQ(visit(), "output link is a symbolic link; only regular files and directories are collected");
  unlink((dir_ + "/link").c_str());
  makeDir("d");
  ASSERT_EQ(mkfifo((dir_ + "/d/pipe").c_str(), 0644), 0);
  EXPECT_EQ(visit(), "output d/pipe is a FIFO; only regular files and directories are collected");
  unlink((dir_ + "/d/pipe").c_str());
  ASSERT_EQ(symlink("/etc", (dir_ + "/d/etc").c_str()), 0);
  EXPECT_THAT(visit(), HasSubstr("output d/etc is a symbolic link"));
  unlink((dir_ + "/d/etc").c_str());
  put("one", "x");
  ASSERT_EQ(link((dir_ + "/one").c_str(), (dir_ + "/two").c_str()), 0);
  EXPECT_EQ(visit(), "output one is a hard link or was replaced; refused");
}

TEST_F(Outputs, WhatItsOwnUserCannotReadIsRefusedForRootToo) {
  makeDir("closed");
  ASSERT_EQ(chmod((dir_ + "/closed").c_str(), 0), 0);
  EXPECT_EQ(visit(), "output closed: its mode keeps its own user out; refused");
  ASSERT_EQ(rmdir((dir_ + "/closed").c_str()), 0);
  put("secret", "x");
  ASSERT_EQ(chmod((dir_ + "/secret").c_str(), 0), 0);
  EXPECT_EQ(visit(), "output secret: its mode keeps its own user out; refused");
}

TEST_F(Outputs, NamesSizesCountsAndDepthAreBounded) {
  put("new\nline", "x");
  EXPECT_EQ(visit(), "output new?line: the name is not printable ASCII");
  unlink((dir_ + "/new\nline").c_str());
  limits_.outputPathBytes = 8;
  put("123456789", "x");
  EXPECT_EQ(visit(), "output: more than 8 bytes in the path of a file");
  limits_ = {};
  limits_.outputFiles = 2;
  put("b", "x");
  put("c", "x");
  EXPECT_EQ(visit(), "output: more than 2 files and directories");
  EXPECT_EQ(checkOutputUse(dir_, limits_).error().message, "output: more than 2 files and directories");
  limits_ = {};
  ASSERT_EQ(truncate((dir_ + "/b").c_str(), 4L << 40), 0);
  EXPECT_EQ(visit(), "output: more than 8589934592 bytes in one file");
  EXPECT_EQ(checkOutputUse(dir_, limits_).error().message, "output: more than 17179869184 bytes in all");
  unlink((dir_ + "/b").c_str());
  limits_.outputDepth = 2;
  makeDir("1");
  makeDir("1/2");
  EXPECT_EQ(visit(), "output: more than 2 levels of directories");
  EXPECT_EQ(checkOutputUse(dir_, limits_).error().message, "output: more than 2 levels of directories");
}

TEST_F(Outputs, LimitsMayBeReachedAndNotPassed) {
  makeDir("d");
  put("d/345678", "1234");
  put("e", "12");
  limits_.outputPathBytes = 8;
  limits_.outputFiles = 3;
  limits_.outputDepth = 2;
  limits_.fileBytes = 4;
  limits_.outputBytes = 6;
  EXPECT_EQ(visit(), "d/345678=1234 e=12 ");
  EXPECT_TRUE(checkOutputUse(dir_, limits_));
  const auto refusal = [&](std::uint64_t Limits::* limit) {
    --(limits_.*limit);
    const std::string message = visit();
    ++(limits_.*limit);
    return message;
  };
  EXPECT_EQ(refusal(&Limits::outputPathBytes), "output: more than 7 bytes in the path of a file");
  EXPECT_EQ(refusal(&Limits::outputFiles), "output: more than 2 files and directories");
  EXPECT_EQ(refusal(&Limits::outputDepth), "output: more than 1 levels of directories");
  EXPECT_EQ(refusal(&Limits::fileBytes), "output: more than 3 bytes in one file");
  EXPECT_EQ(refusal(&Limits::outputBytes), "output: more than 5 bytes in all");
  const auto useRefusal = [&](std::uint64_t Limits::* limit) {
    --(limits_.*limit);
    const Status status = checkOutputUse(dir_, limits_);
    ++(limits_.*limit);
    return status ? "" : status.error().message;
  };
  EXPECT_EQ(useRefusal(&Limits::outputFiles), "output: more than 2 files and directories");
  EXPECT_EQ(useRefusal(&Limits::outputDepth), "output: more than 1 levels of directories");
  EXPECT_EQ(useRefusal(&Limits::outputBytes), "output: more than 5 bytes in all");
}

TEST_F(Outputs, NamesArePrintableAscii) {
  for (int c = 1; c < 256; ++c) {
    if (c == '/') continue;
    const std::string name = std::string("n") + static_cast<char>(c);
    put(name, "x");
    if (c >= 0x20 && c <= 0x7e)
      EXPECT_EQ(visit(), name + "=x ");
    else
      EXPECT_THAT(visit(), HasSubstr("the name is not printable ASCII")) << c;
    ASSERT_EQ(unlink((dir_ + "/" + name).c_str()), 0);
  }
}

// A part of the outputs must not pass for all of them.
TEST_F(Outputs, WhatCannotBeOpenedIsNotLeftOut) {
  makeDir("d");
  makeDir("d/e");
  put("d/e/deep", "1");
  put("last", "2");
  const std::string all = visit();
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  int refusals = 0;
  for (rlim_t most = 0; most < before.rlim_cur; ++most) {
    const rlimit few{most, before.rlim_max};
    ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &few), 0);
    const std::string seen = visit();
    const Status use = checkOutputUse(dir_, limits_);
    ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
    EXPECT_TRUE(use || use.error().message.starts_with("output directory: ")) << use.error().message;
    if (seen == all) break;
    EXPECT_THAT(seen, HasSubstr("Too many open files")) << most;
    ++refusals;
  }
  EXPECT_GE(refusals, 4);
}

TEST_F(Outputs, DescriptorsOfOtherThreadsAreLeftAlone) {
  for (int i = 0; i < 20; ++i) makeDir(std::to_string(i));
  std::atomic<bool> isDone = false;
  int lost = 0;
  std::thread other([&] {
    while (!isDone) lost += close(open("/dev/null", O_RDONLY | O_CLOEXEC)) != 0;
  });
  for (int i = 0; i < 300; ++i) EXPECT_EQ(visit(), "");
  isDone = true;
  other.join();
  EXPECT_EQ(lost, 0);
}

TEST_F(Outputs, TheVisitorsErrorEndsTheWalk) {
  put("a", "1");
  put("b", "2");
  int visits = 0;
  const Status status = visitOutputs(dir_, limits_, [&](const OutputFile&) -> Status {
    ++visits;
    return fail(Code::kUnavailable, "store away");
  });
  EXPECT_EQ(visits, 1);
  EXPECT_EQ(status.error().message, "store away");
}

TEST_F(Outputs, DeepWideAndClosedTreesAreRemoved) {
  UniqueFd at(open(dir_.c_str(), O_RDONLY | O_DIRECTORY));
  for (int i = 0; i < 1500; ++i) {
    ASSERT_EQ(mkdirat(at.get(), "deeper-and-deeper", 0700), 0);
    at = UniqueFd(openat(at.get(), "deeper-and-deeper", O_RDONLY | O_DIRECTORY));
    ASSERT_TRUE(at);
  }
  at.reset();
  makeDir("wide");
  for (int i = 0; i < 10000; ++i) put("wide/" + std::to_string(i), "");
  makeDir("closed");
  put("closed/f", "x");
  makeDir("kiln.trash.1");
  put("kiln.trash.1/f", "x");
  ASSERT_EQ(chmod((dir_ + "/closed").c_str(), 0), 0);
}

// Root may do without the modes that others need.
TEST_F(Outputs, ClosedTreesAreRemovedByAnOrdinaryUserToo) {
  constexpr uid_t kNobody = 65534;
  const bool isRoot = geteuid() == 0;
  if (isRoot) {
    ASSERT_EQ(chown(dir_.c_str(), kNobody, kNobody), 0);
  }
  const int status = inChild([&] {
    // By relative paths: the directories above may be closed to others.
    if (chdir(dir_.c_str()) != 0) return 1;
    if (isRoot && (setresgid(kNobody, kNobody, kNobody) != 0 || setresuid(kNobody, kNobody, kNobody) != 0))
      return 2;
    for (const char* open : {"tree", "tree/inner", "tree/inner/deep", "tree/inner/deep/full"})
      if (mkdir(open, 0700) != 0) return 3;
    for (const char* closed : {"tree/inner/deep", "tree/inner", "tree"})
      if (chmod(closed, 0) != 0) return 4;
    return removeTree("tree") ? 0 : 5;
  });
  EXPECT_EQ(status, 0);
}

TEST_F(Outputs, WhatCannotBeRemovedIsNamed) {
  makeDir("tree");
  makeDir("tree/mounted");
  makeDir("deep");
  makeDir("deep/deeper");
  makeDir("deep/deeper/mounted");
  const int status = inChild([&] {
    if (unshare(CLONE_NEWNS) != 0 || mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
        mount("none", (dir_ + "/tree/mounted").c_str(), "tmpfs", 0, nullptr) != 0 ||
        mount("none", (dir_ + "/deep/deeper/mounted").c_str(), "tmpfs", 0, nullptr) != 0)
      return 77;
    put("tree/mounted/f", "x");
    for (const char* tree : {"/tree", "/deep"}) {
      const Status removed = removeTree(dir_ + tree);
      if (removed || removed.error().message.find("cannot remove mounted") == std::string::npos) return 1;
    }
    return 0;
  });
  if (status == 77) GTEST_SKIP() << "mounting needs root";
  EXPECT_EQ(status, 0);
}

TEST_F(Outputs, RemovingNothingIsFine) {
  EXPECT_TRUE(removeTree(dir_ + "/absent"));
}

TEST(BoundedLog, KeepsBothEndsAndSplitsLines) {
  std::vector<std::string> lines;
  BoundedLog log(8, [&](std::string_view line) { lines.emplace_back(line); });
  log.append("ab");
  log.append("c\nde\n");
  EXPECT_EQ(log.text(), "abc\nde\n");
  log.append(std::string(5000, 'x') + "\n12");
  log.append("3\n");
  EXPECT_EQ(log.text(), "abc\n\n[5004 bytes left out]\n123\n");
  EXPECT_EQ(lines, (std::vector<std::string>{"abc", "de", "123"}));
  EXPECT_EQ(log.total(), 5012u);
}

TEST(BoundedLog, LeavesOutOnlyWhatIsBeyondTheLimit) {
  BoundedLog log(8);
  log.append("12345678");
  EXPECT_EQ(log.text(), "12345678");
  log.append("9");
  EXPECT_EQ(log.text(), "1234\n[1 bytes left out]\n6789");
  log.append("abcdefgh");
  EXPECT_EQ(log.text(), "1234\n[9 bytes left out]\nefgh");
}

TEST(BoundedLog, LinesOfUpTo4096BytesAreSeen) {
  for (const std::size_t piece : {std::size_t{1}, std::size_t{1000}, std::size_t{20000}}) {
    std::vector<std::size_t> seen;
    BoundedLog log(8, [&](std::string_view line) { seen.push_back(line.size()); });
    std::string text;
    for (const std::size_t size : {0u, 4095u, 4096u, 4097u, 3u, 9000u, 4096u})
      text += std::string(size, 'x') + "\n";
    text += "no end";
    for (std::size_t at = 0; at < text.size(); at += piece)
      log.append(std::string_view(text).substr(at, piece));
    EXPECT_THAT(seen, testing::ElementsAre(0, 4095, 4096, 3, 4096)) << piece;
  }
}

TEST(BoundedLog, AnyPiecesGiveTheSameBoundedRecord) {
  std::mt19937 random(3);
  for (int round = 0; round < 200; ++round) {
    std::string text;
    for (unsigned i = random() % 3000; i > 0; --i)
      text += random() % 9 == 0 ? '\n' : static_cast<char>(random());
    std::string lines[2];
    BoundedLog whole(100, [&](std::string_view line) { lines[0].append(line) += '\n'; });
    BoundedLog pieces(100, [&](std::string_view line) { lines[1].append(line) += '\n'; });
    whole.append(text);
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t length = 1 + random() % 50;
      pieces.append(std::string_view(text).substr(at, length));
      at += length;
    }
    EXPECT_EQ(whole.text(), pieces.text());
    EXPECT_EQ(lines[0], lines[1]);
    EXPECT_LT(whole.text().size(), 150u);
  }
}

}  // namespace
}  // namespace kiln::sandbox
