#include "storage/tracing/trace_context.h"

#include <gtest/gtest.h>

namespace kiln::tracing {
namespace {

constexpr char kExample[] = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

TEST(TraceContext, TheSpecificationsExampleComesBack) {
  const auto context = parseTraceparent(kExample);
  ASSERT_TRUE(context);
  EXPECT_TRUE(context->sampled);
  EXPECT_EQ(hexOf(context->trace), "4bf92f3577b34da6a3ce929d0e0e4736");
  EXPECT_EQ(hexOf(context->span), "00f067aa0ba902b7");
  EXPECT_EQ(traceparent(*context), kExample);
  EXPECT_EQ(traceOf(kExample), hexOf(context->trace));
}

TEST(TraceContext, FlagsBeyondTheFirstAreNotLookedAt) {
  EXPECT_FALSE(parseTraceparent("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-00")->sampled);
  EXPECT_TRUE(parseTraceparent("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-ff")->sampled);
  EXPECT_EQ(traceOf("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-00"), "");
}

TEST(TraceContext, ALaterVersionMayAddFields) {
  const std::string rest = "-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
  EXPECT_TRUE(parseTraceparent("cc" + rest));
  EXPECT_TRUE(parseTraceparent("cc" + rest + "-what the future brings"));
  EXPECT_FALSE(parseTraceparent("cc" + rest + ".what"));
  EXPECT_FALSE(parseTraceparent("00" + rest + "-what"));
  EXPECT_FALSE(parseTraceparent("ff" + rest));
}

TEST(TraceContext, RefusesWhatIsNone) {
  const std::string good = kExample;
  EXPECT_FALSE(parseTraceparent(""));
  for (std::size_t length = 0; length < good.size(); ++length)
    EXPECT_FALSE(parseTraceparent(good.substr(0, length))) << length;
  for (std::size_t i = 0; i < good.size(); ++i) {
    std::string bad = good;
    bad[i] = 'G';
    EXPECT_FALSE(parseTraceparent(bad)) << bad;
  }
  std::string capital = good;
  capital[4] = 'B';
  EXPECT_FALSE(parseTraceparent(capital));
  EXPECT_FALSE(parseTraceparent("00-00000000000000000000000000000000-00f067aa0ba902b7-01"));
  EXPECT_FALSE(parseTraceparent("00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01"));
  EXPECT_FALSE(parseTraceparent(good + "\n"));
}

TEST(TraceContext, IdsOfANameAreTheSameEverywhere) {
  // The first bytes of the SHA-256 of "abc".
  EXPECT_EQ(hexOf(spanIdOf("abc")), "ba7816bf8f01cfea");
  EXPECT_NE(newSpanId(), newSpanId());
  EXPECT_NE(newTraceId(), newTraceId());
}

TEST(TraceContext, AShareOfNamesIsSampledAndAlwaysTheSameOnes) {
  int sampled = 0;
  for (int i = 0; i < 2000; ++i) {
    const std::string name = "job " + std::to_string(i);
    EXPECT_FALSE(isSampled(name, 0));
    EXPECT_TRUE(isSampled(name, 1));
    EXPECT_EQ(isSampled(name, .1), isSampled(name, .1));
    if (isSampled(name, .1)) EXPECT_TRUE(isSampled(name, .2)) << "a larger share has those of a smaller one";
    sampled += isSampled(name, .1) ? 1 : 0;
  }
  EXPECT_GT(sampled, 140);
  EXPECT_LT(sampled, 260);
}

}  // namespace
}  // namespace kiln::tracing
