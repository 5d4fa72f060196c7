#include "manifest/base/glob.h"

#include <gtest/gtest.h>

#include <string>

namespace kiln {
namespace {

TEST(Glob, StarsStandForAnything) {
  EXPECT_TRUE(globMatches("", ""));
  EXPECT_TRUE(globMatches("*", ""));
  EXPECT_TRUE(globMatches("a*c", "ac"));
  EXPECT_TRUE(globMatches("a*c", "abcbc"));
  EXPECT_TRUE(globMatches("*a*b*", "xxaxxbxx"));
  EXPECT_FALSE(globMatches("a*c", "acx"));
  EXPECT_FALSE(globMatches("a", "ab"));
  EXPECT_FALSE(globMatches("repo:acme/*", "repo:acme"));
}

// Trying every way in turn would not end here.
TEST(Glob, WhatMatchesAlmostEndsSoon) {
  EXPECT_FALSE(globMatches("*a*a*a*a*a*a*a*a*b", std::string(1000, 'a')));
}

TEST(Lower, TurnsLettersOfAsciiAlone) {
  EXPECT_EQ(lower("X86-64_aZ@[`{"), "x86-64_az@[`{");
  EXPECT_EQ(lower("\u00c4\u00d6 \u0130"), "\u00c4\u00d6 \u0130");
  EXPECT_EQ(lower(std::string("A\0B", 3)), std::string("a\0b", 3));
  EXPECT_EQ(lower(""), "");
}

}  // namespace
}  // namespace kiln
