#include "manifest/base/lower.h"

#include <gtest/gtest.h>

namespace kiln {
namespace {

TEST(Lower, TurnsLettersOfAsciiAlone) {
  EXPECT_EQ(lower("X86-64_aZ@[`{"), "x86-64_az@[`{");
  EXPECT_EQ(lower("\u00c4\u00d6 \u0130"), "\u00c4\u00d6 \u0130");
  EXPECT_EQ(lower(std::string("A\0B", 3)), std::string("a\0b", 3));
  EXPECT_EQ(lower(""), "");
}

}  // namespace
}  // namespace kiln
