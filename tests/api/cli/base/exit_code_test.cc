// What an error ends the command with: the exit code that it carries, else that of its class.
#include "api/cli/base/exit_code.h"

#include <gtest/gtest.h>

namespace kiln::cli {
namespace {

int exitOf(const std::string& details) {
  return exitCodeOf({Code::kNotFound, "no", details});
}

TEST(ExitCode, EveryCodeOfTheTableMayBeCarried) {
  for (int exit = kExitInternal; exit <= kExitCancelled; ++exit) {
    EXPECT_EQ(exitOf(R"({"exitCode":)" + std::to_string(exit) + "}"), exit);
    EXPECT_EQ(exitCodeOf(withExit(exit, Code::kNotFound, "no")), exit);
  }
}

TEST(ExitCode, AnythingElseIsThatOfTheClass) {
  const int usual = kiln::exitCodeOf(Code::kNotFound);
  for (const char* details :
       {"", "{}", "[1]", "no JSON", R"({"exitCode":0})", R"({"exitCode":-1})", R"({"exitCode":12})",
        R"({"exitCode":4294967301})", R"({"exitCode":"5"})", R"({"exitCode":5.0})", R"({"exit":5})"})
    EXPECT_EQ(exitOf(details), usual) << details;
}

}  // namespace
}  // namespace kiln::cli
