#include "api/cli/base/run_program.h"

#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

namespace kiln::cli {
namespace {

using namespace std::chrono_literals;

TEST(RunProgram, TellsWhatAProgramPrintsAndHowItEnds) {
  const auto said = runProgram({"/bin/sh", "-c", "echo one; echo two >&2; exit 3"}, 1min);
  ASSERT_TRUE(said) << said.error().message;
  EXPECT_EQ(said->text, "one\n");
  EXPECT_EQ(said->exitCode, 3);
  EXPECT_EQ(runProgram({"/bin/sh", "-c", "kill -9 $$"}, 1min)->exitCode, 128 + SIGKILL);
  EXPECT_EQ(runProgram({"/nonexistent/program"}, 1min).error().code, Code::kNotFound);
  EXPECT_EQ(runProgram({"/bin/sleep", "60"}, 10ms).error().code, Code::kDeadlineExceeded);
}

// A program that goes on would write where kiln's files were removed, or into a database.
TEST(RunProgram, WhatItRanEndsWithIt) {
  ASSERT_EQ(::prctl(PR_SET_CHILD_SUBREAPER, 1), 0);
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  const pid_t kiln = ::fork();
  if (kiln == 0) {
    // The descriptor is one that a program inherits.
    const std::string words = "echo $$ >&" + std::to_string(ends[1]) + "; exec sleep 60";
    (void)runProgram({"/bin/bash", "-c", words}, 1h);
    ::_exit(0);
  }
  ::close(ends[1]);
  char text[32] = {};
  ASSERT_GT(::read(ends[0], text, sizeof text - 1), 0);
  ::close(ends[0]);
  const pid_t program = std::atoi(text);
  ASSERT_EQ(::kill(kiln, SIGKILL), 0);
  int status = 0;
  ASSERT_EQ(::waitpid(kiln, &status, 0), kiln);
  ASSERT_EQ(::waitpid(program, &status, 0), program);
  EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM) << status;
  ::prctl(PR_SET_CHILD_SUBREAPER, 0);
}

}  // namespace
}  // namespace kiln::cli
