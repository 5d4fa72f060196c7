#include "manifest/base/run_program.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

#include "tests/support/temp_directory.h"

namespace kiln {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

Result<ProgramRun> shell(const std::string& script, const RunOptions& options = {.limit = seconds(60)}) {
  return runProgram({"/bin/sh", "-c", script}, options);
}

TEST(RunProgram, WhatItPrintsAndHowItEnds) {
  const std::string script = "echo out; echo err >&2; exit 3";
  const auto dropped = shell(script);
  ASSERT_TRUE(dropped) << dropped.error().message;
  EXPECT_EQ(dropped->exitCode, 3);
  EXPECT_EQ(dropped->signal, 0);
  EXPECT_EQ(dropped->out, "out\n");
  EXPECT_EQ(dropped->err, "");
  EXPECT_EQ(shell(script, {.standardError = StandardError::kKept})->err, "err\n");
  EXPECT_EQ(shell(script, {.standardError = StandardError::kJoined})->out, "out\nerr\n");
  const auto killed = shell("kill -9 $$");
  EXPECT_EQ(killed->exitCode, 128 + 9);
  EXPECT_EQ(killed->signal, 9);
}

TEST(RunProgram, WhatDoesNotStartIsNamed) {
  const auto run = runProgram({"/nonexistent/program"}, {});
  ASSERT_FALSE(run);
  EXPECT_EQ(run.error().code, Code::kNotFound);
  EXPECT_NE(run.error().message.find("/nonexistent/program"), std::string::npos);
}

TEST(RunProgram, ItsEnvironmentAndDirectoryAreWhatItIsGiven) {
  ::setenv("KILN_TEST_SECRET", "secret", 1);
  const auto run = runProgram({"/usr/bin/env"}, {.environment = std::vector<std::string>{"A=1"}});
  ASSERT_TRUE(run) << run.error().message;
  EXPECT_EQ(run->out, "A=1\n");
  EXPECT_EQ(shell("echo $KILN_TEST_SECRET")->out, "secret\n") << "this process's own";
  const testing_support::TempDirectory directory;
  EXPECT_EQ(shell("pwd -P", {.directory = directory.path()})->out,
            std::filesystem::canonical(directory.path()).string() + "\n");
}

TEST(RunProgram, ItGetsNoOtherDescriptorAndNoBlockedSignal) {
  const int open = ::dup(1);  // without O_CLOEXEC
  const auto descriptors = shell("ls /proc/$$/fd; exit 0");
  ::close(open);
  ASSERT_TRUE(descriptors) << descriptors.error().message;
  EXPECT_EQ(descriptors->out, "0\n1\n2\n");
  sigset_t interrupt;
  sigemptyset(&interrupt);
  sigaddset(&interrupt, SIGINT);
  ::pthread_sigmask(SIG_BLOCK, &interrupt, nullptr);
  const auto blocked = shell("grep SigBlk /proc/self/status");
  ::pthread_sigmask(SIG_UNBLOCK, &interrupt, nullptr);
  EXPECT_EQ(blocked->out, "SigBlk:\t0000000000000000\n");
}

TEST(RunProgram, AFloodIsCut) {
  const auto flood = shell("head -c 3000000 /dev/zero");
  ASSERT_TRUE(flood) << flood.error().message;
  EXPECT_EQ(flood->exitCode, 0) << "it is read to its end";
  EXPECT_EQ(flood->out.size(), std::size_t{1} << 20);
  EXPECT_EQ(shell("head -c 3000000 /dev/zero", {.maxBytes = 10})->out.size(), 10u);
}

TEST(RunProgram, AHangIsEnded) {
  const testing_support::TempDirectory directory;
  const std::string fifo = directory / "fifo";
  // With a group its children go with it: the reader sees the end of the FIFO only once all writers are gone.
  ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
  const int reader = ::open(fifo.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  const auto hang = shell("exec 3> " + fifo + "; sleep 1000 & exec sleep 1000",
                          {.limit = milliseconds(200), .ownGroup = true});
  ASSERT_FALSE(hang);
  EXPECT_EQ(hang.error().code, Code::kDeadlineExceeded);
  EXPECT_EQ(hang.error().message, "/bin/sh: gave no answer in time");
  ::fcntl(reader, F_SETFL, 0);
  char byte = 0;
  EXPECT_EQ(::read(reader, &byte, 1), 0);
  ::close(reader);
}

TEST(RunProgram, AChildOfItsThatKeepsTheStreamsDoesNotKeepTheCaller) {
  const auto run = shell("sleep 1000 & echo $!");
  ASSERT_TRUE(run) << run.error().message;
  ::kill(std::atoi(run->out.c_str()), SIGKILL);
}

// A program that goes on would write where its caller's files were removed, or into a database.
TEST(RunProgram, ItEndsWithItsCaller) {
  ASSERT_EQ(::prctl(PR_SET_CHILD_SUBREAPER, 1), 0);
  const testing_support::TempDirectory directory;
  const std::string fifo = directory.path() + "/pid";
  ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
  const pid_t caller = ::fork();
  if (caller == 0) {
    (void)shell("echo $$ >'" + fifo + "'; exec sleep 60", {});
    ::_exit(0);
  }
  const int in = ::open(fifo.c_str(), O_RDONLY);
  char text[32] = {};
  ASSERT_GT(::read(in, text, sizeof text - 1), 0);
  ::close(in);
  const pid_t program = std::atoi(text);
  ASSERT_EQ(::kill(caller, SIGKILL), 0);
  int status = 0;
  ASSERT_EQ(::waitpid(caller, &status, 0), caller);
  ASSERT_EQ(::waitpid(program, &status, 0), program);
  EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM) << status;
  ::prctl(PR_SET_CHILD_SUBREAPER, 0);
}

}  // namespace
}  // namespace kiln
