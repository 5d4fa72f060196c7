#include "coordinator/access/rate_limiter.h"

#include <gtest/gtest.h>

#include "tests/support/manual_clock.h"

namespace kiln::access {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

int takeAll(RateLimiter& limiter, const std::string& caller) {
  int taken = 0;
  while (limiter.take(caller)) ++taken;
  return taken;
}

TEST(RateLimiter, ABurstAndThenTheRate) {
  testing_support::ManualClock clock;
  RateLimiter limiter(clock, {.perSecond = 10, .burst = 20, .callers = 4});
  EXPECT_EQ(takeAll(limiter, "a"), 20);
  const auto refused = limiter.take("a");
  EXPECT_EQ(refused.error().code, Code::kResourceExhausted);
  EXPECT_EQ(refused.error().details, R"({"retryAfterSeconds":1})");
  EXPECT_EQ(takeAll(limiter, "b"), 20) << "another caller";
  clock.advance(milliseconds(500));
  EXPECT_EQ(takeAll(limiter, "a"), 5);
  clock.advance(seconds(100));
  EXPECT_EQ(takeAll(limiter, "a"), 20) << "and no more than the burst";
}

TEST(RateLimiter, ManyCallersDoNotGrowIt) {
  testing_support::ManualClock clock;
  RateLimiter limiter(clock, {.perSecond = 10, .burst = 10, .callers = 4});
  for (const char* caller : {"a", "b", "c", "d"}) EXPECT_TRUE(limiter.take(caller));
  EXPECT_EQ(limiter.take("e").error().code, Code::kResourceExhausted);
  EXPECT_TRUE(limiter.take("a")) << "who is remembered goes on";
  clock.advance(seconds(1));
  EXPECT_TRUE(limiter.take("e")) << "whoever has all of it again is forgotten";
}

TEST(RateLimiter, AClockThatGoesBackGivesNothing) {
  testing_support::ManualClock clock;
  RateLimiter limiter(clock, {.perSecond = 10, .burst = 2, .callers = 4});
  clock.advance(seconds(10));
  EXPECT_EQ(takeAll(limiter, "a"), 2);
  clock.advance(seconds(-5));
  EXPECT_FALSE(limiter.take("a"));
}

}  // namespace
}  // namespace kiln::access
