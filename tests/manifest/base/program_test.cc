// What surrounds each program's own work, seen from outside: a child with streams of its own.
#include "manifest/base/program.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <iostream>
#include <new>
#include <stdexcept>
#include <system_error>

#include "tests/support/temp_directory.h"

namespace kiln {
namespace {

struct Ended {
  int exit = -1;    // 128 + the signal that ended it
  std::string err;  // what it said on standard error
};

// Runs `body` as program "p" in a child, after `streams` has laid the child's standard streams.
Ended run(const std::function<int()>& body, const std::function<void()>& streams) {
  int told[2];
  EXPECT_EQ(::pipe(told), 0);
  std::cout.flush();
  std::fflush(nullptr);
  const pid_t child = ::fork();
  if (child == 0) {
    ::dup2(told[1], STDERR_FILENO);
    ::close(told[0]);
    ::close(told[1]);
    streams();
    const int exit = runMain("p", body);
    ::_exit(exit);  // no destructors of the test's own
  }
  ::close(told[1]);
  Ended ended;
  char buffer[512];
  for (ssize_t n; (n = ::read(told[0], buffer, sizeof buffer)) > 0;) ended.err.append(buffer, n);
  ::close(told[0]);
  int status = 0;
  ::waitpid(child, &status, 0);
  ended.exit = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return ended;
}

void onto(const char* path, int descriptor) {
  const int opened = ::open(path, O_WRONLY);
  ::dup2(opened, descriptor);
  ::close(opened);
}
void fullOut() {
  onto("/dev/full", STDOUT_FILENO);
}
void nullOut() {
  onto("/dev/null", STDOUT_FILENO);
}

int prints() {
  std::printf("one line\n");
  return 0;
}

TEST(Program, KeepsTheExitCodeWhenAllIsWell) {
  for (const int exit : {0, 3, 10}) {
    const Ended ended = run([&] { return prints(), exit; }, nullOut);
    EXPECT_EQ(ended.exit, exit);
    EXPECT_EQ(ended.err, "");
  }
}

TEST(Program, LostOutputIsNeverExit0) {
  const std::string large(1 << 20, 'x');
  const std::function<int()> bodies[] = {
      prints, [&] { return std::fputs(large.c_str(), stdout), 0; }, [&] { return std::cout << large, 0; },
      [&] { return std::cout << "short", 0; },
      // Flushed by itself: nothing is left for the end but the mark of the stream.
      [&] { return std::printf("gone"), std::fflush(stdout), 0; }};
  for (const auto& body : bodies) {
    const Ended ended = run(body, fullOut);
    EXPECT_EQ(ended.exit, 7) << "one code, whether the C library still knows why or not";
    EXPECT_EQ(ended.err.rfind("p: error: standard output: ", 0), 0u) << ended.err;
    EXPECT_EQ(std::count(ended.err.begin(), ended.err.end(), '\n'), 1) << ended.err;
  }
  EXPECT_EQ(run(prints, fullOut).exit, 7) << "the disk is full";
  EXPECT_EQ(run([] { return 0; }, fullOut).exit, 0) << "nothing was printed";
}

TEST(Program, TheCommandsOwnFailureComesBeforeTheLostOutput) {
  EXPECT_EQ(run([] { return prints(), 5; }, fullOut).exit, 5);
}

// As `head` leaves it.
void closedPipeOut() {
  int ends[2];
  if (::pipe(ends) != 0) ::_exit(99);
  ::close(ends[0]);
  ::dup2(ends[1], STDOUT_FILENO);
}

TEST(Program, AReaderThatHasGoneAwayEndsItAsOtherTools) {
  const auto ignoring = [] { return std::signal(SIGPIPE, SIG_IGN), prints(); };
  const auto flushing = [] {
    return std::signal(SIGPIPE, SIG_IGN), std::printf("gone"), std::fflush(stdout), 0;
  };
  for (const std::function<int()>& body : {std::function<int()>(ignoring), std::function<int()>(flushing)}) {
    const Ended ended = run(body, closedPipeOut);
    EXPECT_EQ(ended.exit, 128 + SIGPIPE);
    EXPECT_EQ(ended.err, "");
  }
  const Ended failed = run([&] { return ignoring(), 5; }, closedPipeOut);
  EXPECT_EQ(failed.exit, 5) << "its own failure comes first";
  EXPECT_EQ(failed.err, "");
}

TEST(Program, WhereTheSignalIsIgnoredTheReaderThatHasGoneAwayIsLostOutput) {
  const Ended ended = run(prints, [] {
    std::signal(SIGPIPE, SIG_IGN);
    closedPipeOut();
  });
  EXPECT_EQ(ended.exit, 7);
  EXPECT_NE(ended.err.find("Broken pipe"), std::string::npos) << ended.err;
}

TEST(Program, AFileBeyondItsLimitIsLostOutputAndNoSignal) {
  const testing_support::TempDirectory directory;
  const std::string path = directory / "out";
  const Ended ended = run(prints, [&] {
    ::dup2(::open(path.c_str(), O_WRONLY | O_CREAT, 0600), STDOUT_FILENO);
    const rlimit none{0, 0};
    ::setrlimit(RLIMIT_FSIZE, &none);
  });
  EXPECT_EQ(ended.exit, 7);
  EXPECT_NE(ended.err.find("standard output: File too large"), std::string::npos) << ended.err;
}

TEST(Program, LostMessagesAreNoticedToo) {
  const auto tells = [] { return std::fprintf(stderr, "a note\n"), 0; };
  EXPECT_EQ(run(tells, [] { onto("/dev/full", STDERR_FILENO); }).exit, 7);
  EXPECT_EQ(run(tells, nullOut).exit, 0);
}

// Without an occupant the file that a program opens first becomes its standard output.
TEST(Program, WhatIsPrintedWithoutAnOutputGoesIntoNoFile) {
  const Ended ended = run(
      [] {
        int opened[2];
        if (::pipe(opened) != 0) return 98;
        if (opened[0] <= STDERR_FILENO || opened[1] <= STDERR_FILENO) return 97;
        return prints();
      },
      [] {
        ::close(STDIN_FILENO);
        ::close(STDOUT_FILENO);
      });
  EXPECT_EQ(ended.exit, 7) << "lost, and said";
  EXPECT_NE(ended.err.find("standard output"), std::string::npos) << ended.err;
}

TEST(Program, AnExceptionThatEscapesIsToldAndNoAbort) {
  const Ended ended = run([]() -> int { throw std::runtime_error("nobody caught this"); }, nullOut);
  EXPECT_EQ(ended.exit, 1);
  EXPECT_EQ(ended.err, "p: error: nobody caught this\n");
}

TEST(Program, WhatRanOutIsUnavailable) {
  EXPECT_EQ(run([]() -> int { throw std::bad_alloc(); }, nullOut).exit, 7);
  for (const std::errc what : {std::errc::resource_unavailable_try_again, std::errc::too_many_files_open})
    EXPECT_EQ(run([&]() -> int { throw std::system_error(std::make_error_code(what)); }, nullOut).exit, 7);
  EXPECT_EQ(
      run([]() -> int { throw std::system_error(std::make_error_code(std::errc::io_error)); }, nullOut).exit,
      1);
}

}  // namespace
}  // namespace kiln
