#include "api/cli/build/local_commit.h"

#include <gtest/gtest.h>

#include <csignal>

#include "api/cli/base/exit_code.h"

namespace kiln::cli {
namespace {

int exitOf(int exit, int signal, const std::string& err = "") {
  const Error error =
      errorOfReader({.exitCode = exit, .signal = signal, .out = {}, .err = err}, "/repository");
  if (err.empty()) EXPECT_TRUE(error.message.starts_with("/repository: ")) << error.message;
  return exitCodeOf(error);
}

TEST(LocalCommit, AReaderThatWasEndedTellsWhatTheRepositoryIs) {
  for (const int limit : {SIGPROF, SIGXCPU, SIGKILL}) EXPECT_EQ(exitOf(128 + limit, limit), kExitUnsupported);
  for (const int fault : {SIGSEGV, SIGBUS, SIGABRT, SIGILL, SIGFPE})
    EXPECT_EQ(exitOf(128 + fault, fault), kExitVerification) << fault;
  EXPECT_EQ(exitOf(128 + SIGTERM, SIGTERM), kExitInternal);
  EXPECT_EQ(exitOf(3, 0), kExitInternal) << "it said nothing";
}

TEST(LocalCommit, AnErrorOfTheReaderKeepsItsExitCode) {
  for (const int exit : {2, 3, 4, 5, 6, 7, 8})
    EXPECT_EQ(exitOf(exit, 0,
                     "stage: read\n"
                     R"({"error":{"code":"INVALID_ARGUMENT","details":{},"message":"m.onnx: no"}})"
                     "\n"),
              exit);
}

}  // namespace
}  // namespace kiln::cli
