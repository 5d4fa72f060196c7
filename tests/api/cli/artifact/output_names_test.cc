#include "api/cli/artifact/output_names.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace kiln::cli {
namespace {

using testing::ElementsAre;

TEST(OutputNames, PlainOnesStayAndOthersBecomePlain) {
  EXPECT_THAT(outputFileNames({"y", "a.b-c_1", "output:0", "../up", ".hidden", "\xc3\xa9"}),
              ElementsAre("y.npy", "a.b-c_1.npy", "output_0.npy", "_._up.npy", "_hidden.npy", "__.npy"));
}

TEST(OutputNames, NoTwoOutputsShareAFile) {
  EXPECT_THAT(outputFileNames({"a/b", "a_b", "a:b", "a_b_2"}),
              ElementsAre("a_b_3.npy", "a_b.npy", "a_b_4.npy", "a_b_2.npy"));
}

TEST(OutputNames, LongOnesAreCutAndStillDiffer) {
  const auto names = outputFileNames({std::string(300, 'x') + "1", std::string(300, 'x') + "2"});
  EXPECT_LT(names[0].size(), 255u);
  EXPECT_NE(names[0], names[1]);
}

}  // namespace
}  // namespace kiln::cli
