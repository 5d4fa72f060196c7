#include "manifest/base/printable.h"

#include <gtest/gtest.h>

namespace kiln {
namespace {

TEST(Printable, TakesControlOfTheTerminalFromNobody) {
  EXPECT_EQ(printable("plain é €"), "plain é €");
  EXPECT_EQ(printable("\x1b[2J\nx\x7f"), "?[2J?x?");
  EXPECT_EQ(printable("a\xC2\x9b"
                      "b"),
            "a?b");  // the one-byte form of ESC [
  EXPECT_EQ(printable("a\xff"), "a?");
  EXPECT_EQ(inQuotes("x"), "\"x\"");
}

TEST(Printable, TurnsNoTextAroundAndHidesNothing) {
  // "lifted" that reads as "recalled" and the like.
  for (const char* hidden :
       {"\u061c", "\u200e", "\u200f",     "\u202a",     "\u202b", "\u202c", "\u202d", "\u202e",
        "\u2066", "\u2067", "\u2068",     "\u2069",     "\u2028", "\u2029", "\u200b", "\u2060",
        "\ufeff", "\u00ad", "\U000e0001", "\U000e0041", "\u206e", "\u0085"})
    EXPECT_EQ(printable(std::string("a") + hidden + "b"), "a?b");
  for (const char* shown :
       {"\u05e9\u05dc\u05d5\u05dd", "\u0639\u0631\u0628", "\u0915\u094d\u200d\u0937",
        "\U0001F468\u200d\U0001F469", "\u65e5\u672c", "\u00e9", "\u2027\u202f", "\U0010fffd"})
    EXPECT_EQ(printable(shown), shown);
}

TEST(Printable, IsBounded) {
  EXPECT_EQ(printable("abcdef", 3), "abc...");
  EXPECT_EQ(printable("abé", 3), "ab...");  // no half characters
  EXPECT_EQ(printable("abc", 3), "abc");
}

}  // namespace
}  // namespace kiln
