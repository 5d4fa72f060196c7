#include "manifest/spec/path.h"

#include <gtest/gtest.h>

namespace kiln {
namespace {

TEST(RelativePath, AcceptsPlainOnes) {
  for (const char* good : {"a", "weights/0000.bin", "a.b/..c", "é"})
    EXPECT_TRUE(checkRelativePath(good)) << good;
}

TEST(RelativePath, RefusesEscapesAndOddities) {
  for (const char* bad :
       {"", "/etc/passwd", "../x", "a/../b", "a/..", ".", "./a", "a//b", "a/", "a\\b", "a\nb", "\xff"})
    EXPECT_EQ(checkRelativePath(bad).error().code, Code::kInvalidArgument) << bad;
  EXPECT_FALSE(checkRelativePath(std::string("a\0b", 3)));
  EXPECT_FALSE(checkRelativePath(std::string(1025, 'a')));
}

}  // namespace
}  // namespace kiln
