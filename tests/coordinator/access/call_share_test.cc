#include "coordinator/access/call_share.h"

#include <gtest/gtest.h>

namespace kiln::access {
namespace {

TEST(CallShare, EachCallerHasAsManyAsOneMay) {
  CallShare share(2);
  auto first = share.take("CN=a");
  {
    const auto second = share.take("CN=a");
    ASSERT_TRUE(first && second);
    const auto third = share.take("CN=a");
    ASSERT_FALSE(third);
    EXPECT_EQ(third.error().code, Code::kResourceExhausted);
    EXPECT_NE(third.error().message.find("CN=a"), std::string::npos) << third.error().message;
    EXPECT_TRUE(share.take("CN=b")) << "another caller";
  }
  const CallShare::Turn moved = std::move(*first);
  EXPECT_TRUE(share.take("CN=a")) << "one has ended";
  const auto again = share.take("CN=a");
  EXPECT_TRUE(again);
  EXPECT_FALSE(share.take("CN=a")) << "a turn that was moved goes on";
}

}  // namespace
}  // namespace kiln::access
