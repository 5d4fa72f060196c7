#include "compiler_core/tuner/search.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>

namespace kiln::tuner {
namespace {

schedule::Site product() {
  return {{schedule::KernelKind::kContraction, {{192, true}, {512, true}}, 3 * 512}, {256, 12}};
}

TEST(Search, TriesEveryScheduleThatTheModelLeavesOnceAndTheDefaultNever) {
  const schedule::Site site = product();
  const Schedule standard = schedule::defaultSchedule(site).schedule;
  Search search(site, standard, {});
  const std::size_t size = search.size();
  std::set<Schedule> seen = {standard};
  while (const auto schedule = search.next()) {
    EXPECT_TRUE(seen.insert(*schedule).second) << text(*schedule);
    EXPECT_TRUE(schedule::check(*schedule, site));
    EXPECT_TRUE(std::isfinite(estimatedCycles(*schedule, site, {})));
  }
  EXPECT_EQ(seen.size(), size + 1);
  EXPECT_GT(size, 50u);
}

TEST(Search, StaysNearTheBestFirst) {
  const schedule::Site site = product();
  const Schedule standard = schedule::defaultSchedule(site).schedule;
  Search search(site, standard, {});
  Schedule best = *search.next();
  for (int step = 0; step < 5; ++step) {
    search.setBest(best);
    const Schedule next = *search.next();
    int differences = 0;
    for (const auto& [knob, values] : next) differences += best.at(knob) != values;
    EXPECT_EQ(differences, 1) << text(next);
    best = next;
  }
}

TEST(Search, AProgramForAnyNumberOfThreadsKeepsItsTasks) {
  const schedule::Site site = product();
  const Schedule standard = schedule::defaultSchedule(site).schedule;
  const double least = std::min(16.0, tasksOf(standard, site));
  ASSERT_GT(least, 1);
  Search search(site, standard, {.threads = 1});
  while (const auto schedule = search.next()) EXPECT_GE(tasksOf(*schedule, site), least) << text(*schedule);
}

TEST(Search, AccumulatorsThatDoNotFitTheRegistersAreNotTried) {
  const schedule::Site site = product();
  Schedule schedule = schedule::defaultSchedule(site).schedule;
  schedule[std::string(schedule::kRowsKnob)] = {14};
  schedule[std::string(schedule::kVectorsKnob)] = {4};
  EXPECT_TRUE(std::isinf(estimatedCycles(schedule, site, {})));
}

}  // namespace
}  // namespace kiln::tuner
