#include "manifest/tuning/schedule.h"

#include <gtest/gtest.h>

namespace kiln {
namespace {

TEST(Schedule, NamesKnobsAndValues) {
  EXPECT_TRUE(checkSchedule({}));
  EXPECT_TRUE(checkSchedule({{"tile", {96, 256}}, {"k-steps", {0}}}));
  EXPECT_EQ(text(Schedule{{"tile", {96, 256}}, {"pack", {1}}}), "pack 1, tile 96x256");
  for (const Schedule& wrong :
       {Schedule{{"", {1}}}, Schedule{{"Tile", {1}}}, Schedule{{"1a", {1}}},
        Schedule{{std::string(33, 'a'), {1}}}, Schedule{{"tile", {}}}, Schedule{{"tile", {-1}}},
        Schedule{{"tile", {std::int64_t{1} << 31}}}, Schedule{{"tile", std::vector<std::int64_t>(17, 1)}}})
    EXPECT_FALSE(checkSchedule(wrong)) << text(wrong);
  Schedule many;
  for (int i = 0; i < 17; ++i) many["k" + std::to_string(i)] = {1};
  EXPECT_FALSE(checkSchedule(many));
}

}  // namespace
}  // namespace kiln
