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

}  // namespace
}  // namespace kiln
