#include "api/cli/base/print.h"

#include <gtest/gtest.h>
#include <pty.h>
#include <unistd.h>

#include <algorithm>

namespace kiln::cli {
namespace {

TEST(Print, NoControlReachesTheTerminal) {
  EXPECT_EQ(printable("a\x1b[31mb\x07"), "a?[31mb?");
  EXPECT_EQ(printable("caf\xc3\xa9\nnext"), "caf\xc3\xa9\nnext");
  // U+009B is CSI to a terminal, as one byte or as UTF-8.
  EXPECT_EQ(printable("\xc2\x9b"
                      "31m")
                .find('\x9b'),
            std::string::npos);
  EXPECT_EQ(printable("\x9b"
                      "31m"),
            "?31m");
}

// A model called "x\nartifact sha256:..." must not add a line to a list.
TEST(Print, ARowOfATableStaysOneLine) {
  testing::internal::CaptureStdout();
  printTable({{"JOB", "MODEL"}, {"1", "m.onnx\nartifact sha256:00"}});
  const auto text = testing::internal::GetCapturedStdout();
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 2) << text;
}

// Scripts take "artifact sha256:..." from stdout: a farm that lies must not forge one.
TEST(Print, ALineStaysOneLine) {
  testing::internal::CaptureStdout();
  printLine("stage codegen\nartifact sha256:00\r\x1b[1A");
  EXPECT_EQ(testing::internal::GetCapturedStdout(), "stage codegen?artifact sha256:00??[1A\n");
}

TEST(Print, AnEntryOfAnErrorStaysOneLine) {
  testing::internal::CaptureStderr();
  printError({Code::kUnimplemented, "no", R"({"nodes":[{"node":"n\nartifact sha256:00"},"m\nartifact"]})"},
             false);
  const auto text = testing::internal::GetCapturedStderr();
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 4) << text;
}

// What printTable writes to a terminal of 40 columns.
std::string onTerminal(const std::vector<std::vector<std::string>>& rows) {
  int terminal = -1, program = -1;
  const winsize size{.ws_row = 24, .ws_col = 40, .ws_xpixel = 0, .ws_ypixel = 0};
  EXPECT_EQ(::openpty(&terminal, &program, nullptr, nullptr, &size), 0);
  std::fflush(stdout);
  const int before = ::dup(STDOUT_FILENO);
  ::dup2(program, STDOUT_FILENO);
  printTable(rows);
  std::fflush(stdout);
  ::dup2(before, STDOUT_FILENO);
  char text[4096];
  const ssize_t size_read = ::read(terminal, text, sizeof text);
  for (const int each : {before, terminal, program}) ::close(each);
  return std::string(text, size_read > 0 ? static_cast<std::size_t>(size_read) : 0);
}

TEST(Print, TablesFitTheTerminal) {
  const std::vector<std::vector<std::string>> rows = {
      {"JOB", "RESULT"}, {"1", std::string(60, 'x')}, {"2", "short"}};
  EXPECT_EQ(onTerminal(rows), "JOB  RESULT\r\n1    " + std::string(32, 'x') + "...\r\n2    short\r\n");
  testing::internal::CaptureStdout();
  printTable(rows);
  EXPECT_NE(testing::internal::GetCapturedStdout().find(std::string(60, 'x')), std::string::npos);
}

TEST(Print, JsonIsAscii) {
  testing::internal::CaptureStdout();
  printJson({{"model",
              "\xc2\x9b"
              "31m"}});
  EXPECT_NE(testing::internal::GetCapturedStdout().find("\\u009b31m"), std::string::npos);
}

}  // namespace
}  // namespace kiln::cli
