// What the simulator counts with: spreads, fairness, and which jobs there are.
#include "tests/bench/simulator/figures.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>

#include "tests/bench/simulator/job_mix.h"
#include "tests/bench/simulator/seen.h"
#include "tests/support/temp_directory.h"

namespace kiln::fleet {
namespace {

TEST(Figures, ASpreadIsOfSortedValues) {
  std::vector<double> values;
  for (int i = 1000; i > 0; --i) values.push_back(i);
  const Spread spread = spreadOf(values);
  EXPECT_EQ(spread.median, 501);
  EXPECT_EQ(spread.p99, 991);
  EXPECT_EQ(spread.most, 1000);
  EXPECT_EQ(spreadOf({}).most, 0);
}

TEST(Figures, FairnessIsOneWhereAllGetTheSameAndOneOfThemAllWhereOneGetsEverything) {
  EXPECT_DOUBLE_EQ(fairness({5, 5, 5, 5}), 1);
  EXPECT_DOUBLE_EQ(fairness({20, 0, 0, 0}), 0.25);
  EXPECT_EQ(fairness({0, 0}), 0);
}

TEST(Figures, WhatWasSeenAddsUp) {
  Seen all, more;
  all.leases = {{"t1", 2}};
  more.leases = {{"t1", 1}, {"t2", 4}};
  more.waits = {0.5};
  all += more;
  EXPECT_EQ(all.allLeases(), 7u);
  EXPECT_EQ(all.leases["t1"], 3u);
  EXPECT_EQ(all.waits.size(), 1u);
}

TEST(JobMix, TheStatedOneIsTheSameEachTimeAndItsFirstTenantHasMost) {
  Options options;
  options.tenants = 3;
  const JobMix mix = JobMix::make(options).value();
  const auto count = [&](const std::string& tenant) {
    return std::ranges::count(mix.jobs(10'000), tenant, &MixedJob::tenant);
  };
  EXPECT_NEAR(static_cast<double>(count("t1")) / static_cast<double>(count("t2")), 2, 0.2);
  EXPECT_NEAR(static_cast<double>(count("t1")) / static_cast<double>(count("t3")), 3, 0.3);
  EXPECT_EQ(count("t1"), count("t1"));
  EXPECT_EQ(mix.secondsOf("t1", "an action"), mix.secondsOf("t1", "an action"));
}

TEST(JobMix, ARecordedOneIsTakenInItsOrder) {
  const testing_support::TempDirectory directory;
  Options options;
  options.recorded = directory / "jobs";
  std::ofstream(options.recorded) << "# tenant priority seconds\nacme 1 2.5\n\nzeta 0 4 # the last\n";
  const auto mix = JobMix::make(options);
  ASSERT_TRUE(mix) << mix.error().message;
  EXPECT_EQ(mix->tenants(), (std::vector<std::string>{"acme", "zeta"}));
  const auto jobs = mix->jobs(3);
  EXPECT_EQ(jobs[0].priority, 1);
  EXPECT_EQ(jobs[1].tenant, "zeta");
  EXPECT_EQ(jobs[2].tenant, "acme") << "again from the beginning";
  EXPECT_EQ(mix->secondsOf("zeta", "an action"), 4);
}

TEST(JobMix, ALineThatIsNoneIsNamed) {
  const testing_support::TempDirectory directory;
  Options options;
  options.recorded = directory / "jobs";
  for (const char* line : {"acme 1", "acme 1 2 3", "acme 1 -2", "acme 1000 2", "acme x 2", "acme 1 1e9"}) {
    std::ofstream(options.recorded) << "acme 0 1\n" << line << "\n";
    const auto mix = JobMix::make(options);
    ASSERT_FALSE(mix) << line;
    EXPECT_NE(mix.error().message.find("jobs:2: "), std::string::npos) << mix.error().message;
  }
}

}  // namespace
}  // namespace kiln::fleet
