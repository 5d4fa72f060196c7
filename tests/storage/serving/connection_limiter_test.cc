#include "storage/serving/connection_limiter.h"

#include <gtest/gtest.h>

#include <random>

namespace kiln::serving {
namespace {

using Id = ConnectionLimiter::Id;

ConnectionLimiter::Time at(int milliseconds) {
  return ConnectionLimiter::Time(std::chrono::milliseconds(milliseconds));
}

Id enter(ConnectionLimiter& limiter, const std::string& source, int now) {
  return limiter.enter(source, at(now)).value().id;
}

// Enters, asks, and is answered.
Id answered(ConnectionLimiter& limiter, const std::string& source, int now) {
  const Id id = enter(limiter, source, now);
  limiter.request(id);
  EXPECT_EQ(limiter.next(), id);
  return id;
}

TEST(ConnectionLimiterTest, ANewOneTakesThePlaceOfWhoWaitsLongest) {
  ConnectionLimiter limiter({.connections = 2});
  const Id first = enter(limiter, "a", 1), second = enter(limiter, "b", 2);
  limiter.wait(first, at(3));  // had an answer meanwhile
  const auto third = limiter.enter("c", at(4));
  ASSERT_TRUE(third);
  EXPECT_EQ(third->evicted, second);
  EXPECT_EQ(limiter.size(), 2u);
}

TEST(ConnectionLimiterTest, WhoIsAnsweredOrQueuedKeepsItsPlace) {
  ConnectionLimiter limiter({.connections = 2, .answers = 1});
  const Id first = answered(limiter, "a", 1), second = enter(limiter, "b", 1);
  limiter.request(second);
  EXPECT_FALSE(limiter.next());
  EXPECT_FALSE(limiter.enter("c", at(2)));
  limiter.wait(first, at(3));
  EXPECT_EQ(limiter.next(), second);
  EXPECT_EQ(limiter.enter("c", at(4))->evicted, first);
}

TEST(ConnectionLimiterTest, AnAddressPushesOutItselfAlone) {
  ConnectionLimiter limiter({.connections = 10, .perAddress = 2});
  const Id other = enter(limiter, "b", 0), first = enter(limiter, "a", 1);
  enter(limiter, "a", 2);
  EXPECT_EQ(limiter.enter("a", at(3))->evicted, first);
  ConnectionLimiter full({.connections = 4, .perAddress = 3});
  enter(full, "b", 0);  // waits longest, but has one place only
  const Id oldest = enter(full, "a", 1);
  enter(full, "a", 2);
  enter(full, "a", 3);
  EXPECT_EQ(full.enter("c", at(4))->evicted, oldest);
  limiter.leave(other);
  EXPECT_EQ(limiter.size(), 2u);
}

TEST(ConnectionLimiterTest, WhoShowedNoCertificateMakesRoomFirst) {
  ConnectionLimiter limiter({.connections = 3, .anonymous = 2});
  const Id known = enter(limiter, "a", 0);
  limiter.certify(known);
  limiter.certify(known);  // the same again
  const Id first = enter(limiter, "b", 1), second = enter(limiter, "c", 2);
  EXPECT_EQ(limiter.enter("d", at(3))->evicted, first) << "two without one are too many";
  limiter.leave(second);
  const Id last = enter(limiter, "e", 4);
  limiter.request(last);
  EXPECT_TRUE(limiter.next());
  const Id third = enter(limiter, "f", 5);
  EXPECT_NE(third, 0u);
  // Those with a certificate keep theirs, though they wait longest.
  EXPECT_EQ(limiter.enter("g", at(6))->evicted, third);
}

TEST(ConnectionLimiterTest, AnswersAreLimitedByAddressAndTheRestIsQueuedInOrder) {
  ConnectionLimiter limiter({.answers = 3, .answersPerAddress = 2});
  std::vector<Id> a;
  for (int i = 0; i < 4; ++i) a.push_back(enter(limiter, "a", i));
  const Id b = enter(limiter, "b", 9), c = enter(limiter, "c", 9);
  for (const Id id : a) limiter.request(id);
  limiter.request(a[0]);  // a second one at once is none
  limiter.request(b);
  limiter.request(c);
  EXPECT_EQ(limiter.next(), a[0]);
  EXPECT_EQ(limiter.next(), a[1]);
  EXPECT_EQ(limiter.next(), b) << "what others queue does not hold it up";
  EXPECT_FALSE(limiter.next());
  limiter.leave(b);
  EXPECT_EQ(limiter.next(), c);
  limiter.wait(a[1], at(10));
  EXPECT_EQ(limiter.next(), a[2]);
  limiter.leave(a[3]);
  EXPECT_FALSE(limiter.queued());
}

TEST(ConnectionLimiterTest, AStalledAnswerEndsOnceOthersAreQueued) {
  ConnectionLimiter limiter({.answers = 2, .stall = std::chrono::milliseconds(100)});
  const Id slow = answered(limiter, "a", 0), working = answered(limiter, "b", 0),
           more = enter(limiter, "c", 0);
  limiter.write(slow, at(10));
  limiter.write(working, at(10));
  EXPECT_TRUE(limiter.stalled(at(1000)).empty()) << "nobody is kept waiting";
  limiter.request(more);
  EXPECT_TRUE(limiter.stalled(at(110)).empty());
  limiter.written(working);
  EXPECT_EQ(limiter.stalled(at(111)), std::vector<Id>{slow});
  EXPECT_EQ(limiter.next(), more);
  limiter.wait(slow, at(200));  // what its connection says afterwards changes nothing
  limiter.written(slow);
  EXPECT_EQ(limiter.size(), 2u);
}

TEST(ConnectionLimiterTest, Sources) {
  EXPECT_EQ(sourceOf("192.0.2.7"), "192.0.2.7");
  EXPECT_EQ(sourceOf("::ffff:192.0.2.7"), "192.0.2.7");
  EXPECT_EQ(sourceOf("2001:db8:1:2:3:4:5:6"), "2001:db8:1:2::/64");
  EXPECT_EQ(sourceOf("2001:db8:1:2::9"), sourceOf("2001:db8:1:2:ffff::"));
  EXPECT_NE(sourceOf("2001:db8:1:3::9"), sourceOf("2001:db8:1:2::9"));
  EXPECT_EQ(sourceOf("fe80::1%eth0"), "fe80::/64");
}

// Whatever happens in whatever order: the limits hold, and once everybody has left, nothing is counted any
// more.
TEST(ConnectionLimiterTest, RandomOrders) {
  for (unsigned seed = 0; seed < 200; ++seed) {
    std::mt19937 random(seed);
    const ConnectionLimits limits{
        .connections = 6, .perAddress = 4, .anonymous = 5, .answers = 3, .answersPerAddress = 2};
    ConnectionLimiter limiter(limits);
    std::map<Id, std::string> open, answering;
    for (int step = 0; step < 300; ++step) {
      const auto any = [&] {
        return open.empty() ? Id{0} : std::next(open.begin(), random() % open.size())->first;
      };
      const Id id = any();
      switch (random() % 6) {
        case 0:
        case 1: {
          const std::string source(1, static_cast<char>('a' + random() % 3));
          const auto entry = limiter.enter(source, at(step));
          if (!entry) break;
          if (entry->evicted) {
            EXPECT_TRUE(open.contains(*entry->evicted) && !answering.contains(*entry->evicted));
            open.erase(*entry->evicted);
          }
          open[entry->id] = source;
          break;
        }
        case 2:
          limiter.leave(id);
          open.erase(id);
          answering.erase(id);
          break;
        case 3:
          limiter.certify(id);
          break;
        case 4:
          limiter.wait(id, at(step));
          answering.erase(id);
          break;
        default:
          limiter.request(id);
      }
      while (const auto next = limiter.next()) {
        EXPECT_TRUE(open.contains(*next) && !answering.contains(*next));
        answering[*next] = open[*next];
      }
      std::map<std::string, std::size_t> connections, answers;
      for (const auto& [ignored, source] : open) EXPECT_LE(++connections[source], limits.perAddress);
      for (const auto& [ignored, source] : answering) EXPECT_LE(++answers[source], limits.answersPerAddress);
      EXPECT_LE(answering.size(), limits.answers);
      ASSERT_EQ(limiter.size(), open.size());
      ASSERT_LE(open.size(), limits.connections);
    }
    for (const auto& [id, ignored] : open) limiter.leave(id);
    EXPECT_FALSE(limiter.queued());
    for (int i = 0; i < 3; ++i) answered(limiter, std::string(1, static_cast<char>('a' + i % 2)), i);
  }
}

}  // namespace
}  // namespace kiln::serving
