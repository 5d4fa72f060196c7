#include "coordinator/access/call_share.h"

#include <gtest/gtest.h>

#include <random>

#include "coordinator/access/peer_address.h"

namespace kiln::access {
namespace {

using Turns = std::vector<CallShare::Turn>;

// Takes what `sharer` can get; how many that were.
std::size_t takeAll(CallShare& share, const Sharer& sharer, Turns& turns) {
  std::size_t taken = 0;
  for (; auto turn = share.take(sharer); ++taken) turns.push_back(std::move(*turn));
  return taken;
}

TEST(CallShare, OneCallerGetsAThird) {
  CallShare share(9);
  Turns turns;
  EXPECT_EQ(takeAll(share, {"CN=a"}, turns), 3u);
  const auto refused = share.take({"CN=a"});
  EXPECT_EQ(refused.error().code, Code::kResourceExhausted);
  EXPECT_NE(refused.error().message.find("CN=a has 3 calls"), std::string::npos) << refused.error().message;
  EXPECT_TRUE(share.take({"CN=b"})) << "another caller";
  const CallShare::Turn moved = std::move(turns.back());
  turns.pop_back();
  EXPECT_FALSE(share.take({"CN=a"})) << "a turn that was moved goes on";
  turns.pop_back();
  EXPECT_TRUE(share.take({"CN=a"})) << "one has ended";
}

// Every new certificate and token is another caller; whose they are stays the same.
TEST(CallShare, AllCallersOfATenantTogetherGetAHalf) {
  CallShare share(1000);
  Turns turns;
  std::size_t taken = 0;
  for (int i = 0; i < 50; ++i) taken += takeAll(share, {"CN=" + std::to_string(i), {"acme"}}, turns);
  EXPECT_EQ(taken, 500u);
  EXPECT_NE(share.take({"CN=new", {"acme"}}).error().message.find("tenant \"acme\" has 500"),
            std::string::npos);
  EXPECT_GT(takeAll(share, {"CN=other", {"zeta"}}, turns), 100u);
  // Whoever is also another's is served there.
  EXPECT_TRUE(share.take({"CN=both", {"acme", "beta"}}));
}

TEST(CallShare, AllCallersOfAMachineTogetherGetTwoThirds) {
  CallShare share(900);
  Turns turns;
  std::size_t taken = 0;
  for (int i = 0; i < 50; ++i) {
    const std::string name = std::to_string(i);
    taken += takeAll(share, {name, {name}, "192.0.2.1"}, turns);
  }
  EXPECT_EQ(taken, 600u);
  EXPECT_FALSE(share.take({"new", {"new"}, "192.0.2.1"}));
  EXPECT_GE(takeAll(share, {"new", {"new"}, "192.0.2.2"}, turns), 100u);
}

// Whatever few tenants do, in whatever order, the next one is served.
TEST(CallShare, AnotherTenantIsAlwaysServed) {
  std::minstd_rand random(7);
  CallShare share(600);
  Turns turns;
  for (int step = 0; step < 20'000; ++step) {
    const std::string tenant = std::to_string(random() % 5);
    if (turns.empty() || random() % 4 != 0) {
      if (auto turn = share.take({tenant + "/" + std::to_string(random() % 100), {tenant}}))
        turns.push_back(std::move(*turn));
    } else {
      turns.pop_back();
    }
    ASSERT_TRUE(share.take({"new", {"new"}, "192.0.2.9"})) << step;
  }
  EXPECT_GE(turns.size(), 400u) << "five tenants have five sixths";
  turns.clear();
  EXPECT_EQ(takeAll(share, {"new"}, turns), 200u) << "all that ended is free again";
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
