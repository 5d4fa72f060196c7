#include "coordinator/access/call_limiter.h"

#include <gtest/gtest.h>

#include <random>

#include "coordinator/access/peer_address.h"

namespace kiln::access {
namespace {

using Permits = std::vector<CallLimiter::Permit>;

// Takes what `sharer` can get; how many that were.
std::size_t takeAll(CallLimiter& limiter, const Sharer& sharer, Permits& permits) {
  std::size_t taken = 0;
  for (; auto permit = limiter.acquire(sharer); ++taken) permits.push_back(std::move(*permit));
  return taken;
}

TEST(CallLimiter, OneCallerGetsAThird) {
  CallLimiter limiter(9);
  Permits permits;
  EXPECT_EQ(takeAll(limiter, {"CN=a"}, permits), 3u);
  const auto refused = limiter.acquire({"CN=a"});
  EXPECT_EQ(refused.error().code, Code::kResourceExhausted);
  EXPECT_NE(refused.error().message.find("CN=a has 3 calls"), std::string::npos) << refused.error().message;
  EXPECT_TRUE(limiter.acquire({"CN=b"})) << "another caller";
  const CallLimiter::Permit moved = std::move(permits.back());
  permits.pop_back();
  EXPECT_FALSE(limiter.acquire({"CN=a"})) << "a permit that was moved still counts";
  permits.pop_back();
  EXPECT_TRUE(limiter.acquire({"CN=a"})) << "one has ended";
}

// Every new certificate and token is another caller; whose they are stays the same.
TEST(CallLimiter, AllCallersOfATenantTogetherGetAHalf) {
  CallLimiter limiter(1000);
  Permits permits;
  std::size_t taken = 0;
  for (int i = 0; i < 50; ++i) taken += takeAll(limiter, {"CN=" + std::to_string(i), {"acme"}}, permits);
  EXPECT_EQ(taken, 500u);
  EXPECT_NE(limiter.acquire({"CN=new", {"acme"}}).error().message.find("tenant \"acme\" has 500"),
            std::string::npos);
  EXPECT_GT(takeAll(limiter, {"CN=other", {"zeta"}}, permits), 100u);
  // Whoever is also another's is served there.
  EXPECT_TRUE(limiter.acquire({"CN=both", {"acme", "beta"}}));
}

TEST(CallLimiter, AllCallersOfAMachineTogetherGetTwoThirds) {
  CallLimiter limiter(900);
  Permits permits;
  std::size_t taken = 0;
  for (int i = 0; i < 50; ++i) {
    const std::string name = std::to_string(i);
    taken += takeAll(limiter, {name, {name}, "192.0.2.1"}, permits);
  }
  EXPECT_EQ(taken, 600u);
  EXPECT_FALSE(limiter.acquire({"new", {"new"}, "192.0.2.1"}));
  EXPECT_GE(takeAll(limiter, {"new", {"new"}, "192.0.2.2"}, permits), 100u);
}

// Whatever few tenants do, in whatever order, the next one is served.
TEST(CallLimiter, AnotherTenantIsAlwaysServed) {
  std::minstd_rand random(7);
  CallLimiter limiter(600);
  Permits permits;
  for (int step = 0; step < 20'000; ++step) {
    const std::string tenant = std::to_string(random() % 5);
    if (permits.empty() || random() % 4 != 0) {
      if (auto permit = limiter.acquire({tenant + "/" + std::to_string(random() % 100), {tenant}}))
        permits.push_back(std::move(*permit));
    } else {
      permits.pop_back();
    }
    ASSERT_TRUE(limiter.acquire({"new", {"new"}, "192.0.2.9"})) << step;
  }
  EXPECT_GE(permits.size(), 400u) << "five tenants have five sixths";
  permits.clear();
  EXPECT_EQ(takeAll(limiter, {"new"}, permits), 200u) << "all that ended is free again";
}

TEST(SourceOfPeer, OneMachineIsOneSource) {
  EXPECT_EQ(sourceOfPeer("ipv4:192.0.2.1:5000"), "192.0.2.1");
  EXPECT_EQ(sourceOfPeer("ipv6:%5B2001:db8:1:2:3:4:5:6%5D:5000"), "2001:db8:1:2::/64");
  EXPECT_EQ(sourceOfPeer("ipv6:[2001:db8:1:2::9]:1"), "2001:db8:1:2::/64");
  EXPECT_EQ(sourceOfPeer("ipv6:%5Bfe80::1%25eth0%5D:5000"), "fe80::/64");
  EXPECT_EQ(sourceOfPeer("ipv6:%5B::ffff:192.0.2.1%5D:5000"), "192.0.2.1");
  for (const char* nobody :
       {"", "unix:", "unix:/run/kiln.sock", "ipv4:127.0.0.1:5000", "ipv6:%5B::1%5D:5000",
        "ipv4:", "ipv6:", "ipv6:%5B", "ipv4:999.0.2.1:5", "ipv6:%5B::ffff:127.0.0.1%5D:1"})
    EXPECT_EQ(sourceOfPeer(nobody), "") << nobody;
}

}  // namespace
}  // namespace kiln::access
