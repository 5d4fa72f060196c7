#include "manifest/base/nearest.h"

#include <gtest/gtest.h>

namespace kiln {
namespace {

using Names = std::vector<std::string>;

TEST(Nearest, TheMostSimilarComeFirstAndFarOnesNot) {
  const Names known{"worker-1", "worker-2", "worker-12", "builder-1", "worker-1"};
  EXPECT_EQ(nearestNames("worker-1", known), (Names{"worker-1", "worker-12", "worker-2"}));
  EXPECT_EQ(nearestNames("wroker-2", known), (Names{"worker-2", "worker-1", "worker-12"}));
  EXPECT_EQ(nearestNames("biuld", {"build", "bid"}), (Names{"build"})) << "neighbours changed places";
  EXPECT_EQ(nearestNames("nobody", known), Names{});
  EXPECT_EQ(nearestNames("", known), Names{});
  EXPECT_EQ(nearestNames(std::string(10'000, 'w'), known), Names{}) << "long text is compared with nothing";
  EXPECT_EQ(orNearest("worker-9", {"worker-1"}), "; did you mean \"worker-1\"?");
  EXPECT_EQ(orNearest("nobody", known), "");
}

TEST(Nearest, ANameWithoutQualifierIsHeldAgainstNamesBehindTheirs) {
  const Names known{"stablehlo.dot_general", "stablehlo.add", "com.microsoft:Gelu"};
  EXPECT_EQ(nearestNames("dot_generl", known), (Names{"stablehlo.dot_general"}));
  EXPECT_EQ(nearestNames("Gelu", known), (Names{"com.microsoft:Gelu"}));
  EXPECT_EQ(nearestNames("tosa.add", {"linalg.add"}), Names{}) << "it has a qualifier of its own";
}

}  // namespace
}  // namespace kiln
