#include "api/gateway/places.h"

#include <gtest/gtest.h>

#include <random>

namespace kiln::gateway {
namespace {

using Id = Places::Id;

Places::Time at(int milliseconds) {
  return Places::Time(std::chrono::milliseconds(milliseconds));
}

Id enter(Places& places, const std::string& source, int now) {
  return places.enter(source, at(now)).value().id;
}

// Enters, asks, and is answered.
Id answered(Places& places, const std::string& source, int now) {
  const Id id = enter(places, source, now);
  places.request(id);
  EXPECT_EQ(places.next(), id);
  return id;
}

TEST(PlacesTest, ANewOneTakesThePlaceOfWhoWaitsLongest) {
  Places places({.connections = 2});
  const Id first = enter(places, "a", 1), second = enter(places, "b", 2);
  places.wait(first, at(3));  // had an answer meanwhile
  const auto third = places.enter("c", at(4));
  ASSERT_TRUE(third);
  EXPECT_EQ(third->evicted, second);
  EXPECT_EQ(places.size(), 2u);
}

TEST(PlacesTest, WhoIsAnsweredOrQueuedKeepsItsPlace) {
  Places places({.connections = 2, .answers = 1});
  const Id first = answered(places, "a", 1), second = enter(places, "b", 1);
  places.request(second);
  EXPECT_FALSE(places.next());
  EXPECT_FALSE(places.enter("c", at(2)));
  places.wait(first, at(3));
  EXPECT_EQ(places.next(), second);
  EXPECT_EQ(places.enter("c", at(4))->evicted, first);
}

TEST(PlacesTest, AnAddressPushesOutItselfAlone) {
  Places places({.connections = 10, .perAddress = 2});
  const Id other = enter(places, "b", 0), first = enter(places, "a", 1);
  enter(places, "a", 2);
  EXPECT_EQ(places.enter("a", at(3))->evicted, first);
  Places full({.connections = 4, .perAddress = 3});
  enter(full, "b", 0);  // waits longest, but has one place only
  const Id oldest = enter(full, "a", 1);
  enter(full, "a", 2);
  enter(full, "a", 3);
  EXPECT_EQ(full.enter("c", at(4))->evicted, oldest);
  places.leave(other);
  EXPECT_EQ(places.size(), 2u);
}

TEST(PlacesTest, WhoShowedNoCertificateMakesRoomFirst) {
  Places places({.connections = 3, .anonymous = 2});
  const Id known = enter(places, "a", 0);
  places.certify(known);
  places.certify(known);  // the same again
  const Id first = enter(places, "b", 1), second = enter(places, "c", 2);
  EXPECT_EQ(places.enter("d", at(3))->evicted, first) << "two without one are too many";
  places.leave(second);
  const Id last = enter(places, "e", 4);
  places.request(last);
  EXPECT_TRUE(places.next());
  const Id third = enter(places, "f", 5);
  EXPECT_NE(third, 0u);
  // Those with a certificate keep theirs, though they wait longest.
  EXPECT_EQ(places.enter("g", at(6))->evicted, third);
}

TEST(PlacesTest, AnswersAreLimitedByAddressAndTheRestIsQueuedInOrder) {
  Places places({.answers = 3, .answersPerAddress = 2});
  std::vector<Id> a;
  for (int i = 0; i < 4; ++i) a.push_back(enter(places, "a", i));
  const Id b = enter(places, "b", 9), c = enter(places, "c", 9);
  for (const Id id : a) places.request(id);
  places.request(a[0]);  // a second one at once is none
  places.request(b);
  places.request(c);
  EXPECT_EQ(places.next(), a[0]);
  EXPECT_EQ(places.next(), a[1]);
  EXPECT_EQ(places.next(), b) << "what others queue does not hold it up";
  EXPECT_FALSE(places.next());
  places.leave(b);
  EXPECT_EQ(places.next(), c);
  places.wait(a[1], at(10));
  EXPECT_EQ(places.next(), a[2]);
  places.leave(a[3]);
  EXPECT_FALSE(places.queued());
}

TEST(PlacesTest, AStalledAnswerEndsOnceOthersAreQueued) {
  Places places({.answers = 2, .stall = std::chrono::milliseconds(100)});
  const Id slow = answered(places, "a", 0), working = answered(places, "b", 0), more = enter(places, "c", 0);
  places.write(slow, at(10));
  places.write(working, at(10));
  EXPECT_TRUE(places.stalled(at(1000)).empty()) << "nobody is kept waiting";
  places.request(more);
  EXPECT_TRUE(places.stalled(at(110)).empty());
  places.written(working);
  EXPECT_EQ(places.stalled(at(111)), std::vector<Id>{slow});
  EXPECT_EQ(places.next(), more);
  places.wait(slow, at(200));  // what its connection says afterwards changes nothing
  places.written(slow);
  EXPECT_EQ(places.size(), 2u);
}

TEST(PlacesTest, Sources) {
  EXPECT_EQ(sourceOf("192.0.2.7"), "192.0.2.7");
  EXPECT_EQ(sourceOf("::ffff:192.0.2.7"), "192.0.2.7");
  EXPECT_EQ(sourceOf("2001:db8:1:2:3:4:5:6"), "2001:db8:1:2::/64");
  EXPECT_EQ(sourceOf("2001:db8:1:2::9"), sourceOf("2001:db8:1:2:ffff::"));
  EXPECT_NE(sourceOf("2001:db8:1:3::9"), sourceOf("2001:db8:1:2::9"));
  EXPECT_EQ(sourceOf("fe80::1%eth0"), "fe80::/64");
}

// Whatever happens in whatever order: the limits hold, and once everybody has left, nothing is counted any
// more.
TEST(PlacesTest, RandomOrders) {
  for (unsigned seed = 0; seed < 200; ++seed) {
    std::mt19937 random(seed);
    const PlaceLimits limits{
        .connections = 6, .perAddress = 4, .anonymous = 5, .answers = 3, .answersPerAddress = 2};
    Places places(limits);
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
          const auto entry = places.enter(source, at(step));
          if (!entry) break;
          if (entry->evicted) {
            EXPECT_TRUE(open.contains(*entry->evicted) && !answering.contains(*entry->evicted));
            open.erase(*entry->evicted);
          }
          open[entry->id] = source;
          break;
        }
        case 2:
          places.leave(id);
          open.erase(id);
          answering.erase(id);
          break;
        case 3:
          places.certify(id);
          break;
        case 4:
          places.wait(id, at(step));
          answering.erase(id);
          break;
        default:
          places.request(id);
      }
      while (const auto next = places.next()) {
        EXPECT_TRUE(open.contains(*next) && !answering.contains(*next));
        answering[*next] = open[*next];
      }
      std::map<std::string, std::size_t> connections, answers;
      for (const auto& [ignored, source] : open) EXPECT_LE(++connections[source], limits.perAddress);
      for (const auto& [ignored, source] : answering) EXPECT_LE(++answers[source], limits.answersPerAddress);
      EXPECT_LE(answering.size(), limits.answers);
      ASSERT_EQ(places.size(), open.size());
      ASSERT_LE(open.size(), limits.connections);
    }
    for (const auto& [id, ignored] : open) places.leave(id);
    EXPECT_FALSE(places.queued());
    for (int i = 0; i < 3; ++i) answered(places, std::string(1, static_cast<char>('a' + i % 2)), i);
  }
}

}  // namespace
}  // namespace kiln::gateway
