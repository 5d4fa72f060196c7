#include "manifest/base/counted.h"

#include <gtest/gtest.h>

namespace kiln {
namespace {

TEST(Counted, OneIsNotSeveral) {
  EXPECT_EQ(counted(0, "artifact"), "0 artifacts");
  EXPECT_EQ(counted(1, "artifact"), "1 artifact");
  EXPECT_EQ(counted(2, "log entry"), "2 log entries");
  EXPECT_EQ(counted(1, "log entry"), "1 log entry");
  EXPECT_EQ(counted(3, "key"), "3 keys");
  EXPECT_EQ(counted(11, "pass"), "11 passes");
  EXPECT_EQ(counted(21, "witness"), "21 witnesses");
  EXPECT_EQ(counted(2, "box"), "2 boxes");
  EXPECT_EQ(nounFor("1", "kernel"), "kernel");
  EXPECT_EQ(nounFor("", "kernel"), "kernels");
}

}  // namespace
}  // namespace kiln
