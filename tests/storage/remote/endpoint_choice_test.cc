#include "storage/remote/endpoint_choice.h"

#include <gtest/gtest.h>

#include <set>

namespace kiln::storage {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr TimePoint kNow{std::chrono::hours(500'000)};
const std::vector<bool> kNone(3);

bool reachable(std::size_t) {
  return true;
}
bool unreachable(std::size_t) {
  return false;
}

TEST(EndpointChoice, TheFirstComesFirstWhileItAnswers) {
  EndpointChoice choice(3, 1, 7);
  EXPECT_EQ(choice.next(kNow, kNone, unreachable), 1u) << "one that never failed need not be connected";
  choice.answered(1);
  EXPECT_EQ(choice.next(kNow, kNone, unreachable), 1u);
  EXPECT_EQ(choice.next(kNow, {false, true, false}, unreachable), 2u) << "then those after it";
  EXPECT_EQ(choice.next(kNow, {false, true, true}, unreachable), 0u) << "and those before it";
  EXPECT_EQ(choice.next(kNow, {true, true, true}, unreachable), std::nullopt);
}

TEST(EndpointChoice, OneThatFailedIsPassedOverUntilItIsBack) {
  EndpointChoice choice(3, 0, 7);
  choice.failed(0, kNow);
  EXPECT_EQ(choice.next(kNow, kNone, reachable), 1u) << "its back-off has begun";
  EXPECT_EQ(choice.next(kNow + seconds(1), kNone, unreachable), 1u) << "it cannot be reached";
  EXPECT_EQ(choice.next(kNow + seconds(1), kNone, reachable), 0u);
  choice.answered(0);
  EXPECT_EQ(choice.next(kNow, kNone, unreachable), 0u);
}

TEST(EndpointChoice, WhereAllHaveFailedTheSoonestIsTried) {
  EndpointChoice choice(2, 0, 7);
  for (int i = 0; i < 4; ++i) choice.failed(0, kNow);
  choice.failed(1, kNow);
  EXPECT_EQ(choice.next(kNow, {false, false}, unreachable), 1u);
  EXPECT_EQ(choice.next(kNow, {false, true}, unreachable), 0u) << "then the other: no call fails untried";
}

// How long it takes until one that can be reached is used again, after so many failures in a row.
Duration backoff(int failures, std::uint64_t seed) {
  EndpointChoice choice(2, 0, seed);
  for (int i = 0; i < failures; ++i) choice.failed(0, kNow);
  Duration waited{};
  while (choice.next(kNow + waited, {false, false}, reachable) != 0u) waited += milliseconds(10);
  return waited;
}

TEST(EndpointChoice, BackOffDoublesToItsMostAndDiffersBetweenClients) {
  std::set<Duration> first;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    EXPECT_GE(backoff(1, seed), milliseconds(250));
    EXPECT_LE(backoff(1, seed), milliseconds(510));
    EXPECT_GE(backoff(3, seed), seconds(1));
    EXPECT_LE(backoff(3, seed), milliseconds(2010));
    EXPECT_GE(backoff(30, seed), seconds(15));
    EXPECT_LE(backoff(30, seed), milliseconds(30'010));
    first.insert(backoff(30, seed));
  }
  EXPECT_GT(first.size(), 10u) << "they all come back at once";
}

}  // namespace
}  // namespace kiln::storage
