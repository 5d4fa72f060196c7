#include "api/cli/print.h"

#include <gtest/gtest.h>

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

TEST(Print, JsonIsAscii) {
  testing::internal::CaptureStdout();
  printJson({{"model",
              "\xc2\x9b"
              "31m"}});
  EXPECT_NE(testing::internal::GetCapturedStdout().find("\\u009b31m"), std::string::npos);
}

}  // namespace
}  // namespace kiln::cli
