#include "api/cli/base/text_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace kiln::cli {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(TextTable, PadsColumnsAndAlignsNumbersToTheRight) {
  EXPECT_THAT(tableLines({{"name", "n", "what"}, {"a", "100", "x"}, {"longer", "7"}}, {1}),
              ElementsAre("name      n  what", "a       100  x", "longer    7"));
  EXPECT_THAT(tableLines({}), IsEmpty());
}

TEST(TextTable, ListsBreakBetweenItems) {
  EXPECT_THAT(wrapped({"aaaa", "bbbb", "cc", "dddddddddddd"}, 11),
              ElementsAre("aaaa, bbbb,", "cc,", "dddddddddddd"));
  EXPECT_THAT(wrapped({}, 10), IsEmpty());
}

TEST(TextTable, BarsReachAsHighAsTheirValues) {
  EXPECT_THAT(barChart({0, 1, 50, 100}, 2), ElementsAre("   █", " ▁██"));
  EXPECT_THAT(barChart({8, 4}, 1), ElementsAre("█▄"));
  EXPECT_THAT(barChart({0, 0}, 3), IsEmpty());
  EXPECT_THAT(barChart({}, 3), IsEmpty());
  EXPECT_THAT(barChart({~std::uint64_t{0}, 1}, 1), ElementsAre("█▁"));
}

}  // namespace
}  // namespace kiln::cli
