#include "compiler_core/tuner/search.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "compiler_core/schedule/strategies/winograd/knobs.h"

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

TEST(Search, TheBestOfEachKindOfWinogradsTilesComesFirst) {
  schedule::Site site{
      {schedule::KernelKind::kConvolution, {{1, true}, {128, true}, {112, true}, {112, true}}, 3 * 1152},
      {512, 24, 4}};
  site.shape.channelLanes = 64;
  site.shape.notes[schedule::kWinogradKnob] = 128;
  const auto winograd = [](const Schedule& schedule) {
    return schedule::numberOf(schedule, schedule::kWinogradKnob, 0);
  };
  const Schedule without = schedule::defaultSchedule(site).schedule;
  EXPECT_EQ(winograd(*Search(site, without, {}).next()), 0);
  site.reassociation = schedule::Reassociation::kOn;
  const Schedule standard = schedule::defaultSchedule(site).schedule;
  Search search(site, standard, {});
  const Schedule four = *search.next(), two = *search.next();
  EXPECT_EQ(winograd(four), 4);
  EXPECT_EQ(winograd(two), 2);
  EXPECT_LT(estimatedCycles(four, site, {}), estimatedCycles(two, site, {}));
  EXPECT_LT(estimatedCycles(two, site, {}), estimatedCycles(standard, site, {}));
  search.setBest(four);
  std::size_t others = 0;
  while (const auto schedule = search.next()) {
    others += winograd(*schedule) == 0;
    if (winograd(*schedule) == 0) continue;
    // What Winograd's tiles have no use for does not make a schedule of its own.
    EXPECT_EQ(schedule->at("lanes"), standard.at("lanes")) << text(*schedule);
    EXPECT_EQ(schedule->at("unfold"), standard.at("unfold")) << text(*schedule);
  }
  EXPECT_GT(others, 100u) << "estimates alone rule nothing out";
}

TEST(Search, WhereTheDefaultIsMadeOfTilesTheOtherWaysComeFirst) {
  schedule::Site site{
      {schedule::KernelKind::kConvolution, {{1, true}, {128, true}, {112, true}, {112, true}}, 3 * 1152},
      {512, 24, 4}};
  site.shape.channelLanes = 64;
  site.shape.notes[schedule::kWinogradKnob] = 128;
  site.reassociation = schedule::Reassociation::kDeterministic;
  const Schedule standard = schedule::defaultSchedule(site).schedule;
  ASSERT_EQ(standard.at("winograd"), std::vector<std::int64_t>{4});
  Search search(site, standard, {});
  std::set<std::int64_t> ways;
  for (int i = 0; i < 2; ++i) ways.insert(search.next()->at("winograd").front());
  EXPECT_EQ(ways, (std::set<std::int64_t>{0, 2}));
  std::size_t others = 0;
  while (const auto schedule = search.next()) others += schedule->at("winograd").front() == 0;
  EXPECT_GT(others, 100u);
}

TEST(Search, AProgramForAnyNumberOfThreadsKeepsItsTasks) {
  const schedule::Site site = product();
  const Schedule standard = schedule::defaultSchedule(site).schedule;
  const double least = std::min(16.0, tasksOf(standard, site));
  ASSERT_GT(least, 1);
  Search search(site, standard, {.threads = 1});
  while (const auto schedule = search.next()) EXPECT_GE(tasksOf(*schedule, site), least) << text(*schedule);
}

TEST(Search, TasksOfADeviceAreItsBlocks) {
  schedule::Site site{{schedule::KernelKind::kElementwise, {{40, true}, {600, true}}, 4}};
  site.onDevice = site.isSingle = true;
  EXPECT_EQ(tasksOf({{"tile", {1000}}}, site), 24);
  EXPECT_EQ(tasksOf({{"tile", {1024}}}, site), 24);
  site.isSingle = false;
  EXPECT_EQ(tasksOf({{"tile", {8, 300}}}, site), 10);
  // More threads than a multiprocessor runs at a time gain nothing, fewer leave some of it idle.
  const auto cycles = [&](std::int64_t threads) {
    return estimatedCycles({{"threads", {threads}}, {"tile", {8, 300}}}, site, {});
  };
  EXPECT_LT(cycles(128), cycles(32));
  EXPECT_LE(cycles(128), cycles(1024));
  // Blocks run in rounds of as many as there are multiprocessors.
  const Schedule ten{{"threads", {128}}, {"tile", {8, 300}}};
  EXPECT_EQ(estimatedCycles(ten, site, {.multiprocessors = 9}),
            2 * estimatedCycles(ten, site, {.multiprocessors = 10}));
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
