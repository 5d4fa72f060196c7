#include "manifest/base/printable.h"

#include <gtest/gtest.h>

namespace kiln {
namespace {

TEST(Printable, TakesControlOfTheTerminalFromNobody) {
  EXPECT_EQ(printable("plain é €"), "plain é €");
  EXPECT_EQ(printable("\x1b[2J\nx\x7f"), "?[2J?x?");
  EXPECT_EQ(printable("a\xC2\x9b"
                      "b"),
            "a??b");  // the one-byte form of ESC [
  EXPECT_EQ(printable("a\xff"), "a?");
  EXPECT_EQ(inQuotes("x"), "\"x\"");
}

TEST(Printable, IsBounded) {
  EXPECT_EQ(printable("abcdef", 3), "abc...");
  EXPECT_EQ(printable("abé", 3), "ab...");  // no half characters
  EXPECT_EQ(printable("abc", 3), "abc");
}

}  // namespace
}  // namespace kiln
