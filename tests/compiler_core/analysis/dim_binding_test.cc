#include "compiler_core/analysis/dim_binding.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace kiln::analysis {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(DimBinding, BindsNamedAndNamelessDimensions) {
  DimBinder binder({{"batch", 4}, {"x.2", 7}});
  auto bound = binder.bind("x", {{std::nullopt, "batch"}, {3, ""}, {std::nullopt, ""}});
  ASSERT_TRUE(bound) << bound.error().message;
  EXPECT_THAT(bound->shape, ElementsAre(4, 3, 7));
  EXPECT_THAT(bound->dimNames, ElementsAre("batch", "", "x.2"));
  EXPECT_TRUE(binder.finish());
}

TEST(DimBinding, RefusesWhatIsMissingAbsurdOrUnknown) {
  DimBinder binder({{"n", 1}, {"m", -4}});
  auto missing = binder.bind("x", {{std::nullopt, "time"}});
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, Code::kUnimplemented);
  EXPECT_THAT(missing.error().message, HasSubstr("--profile time=N:N:N"));
  EXPECT_EQ(binder.bind("x", {{std::nullopt, "m"}}).error().code, Code::kInvalidArgument);
  EXPECT_EQ(binder.bind("x", {{-5, ""}}).error().code, Code::kInvalidArgument);
  EXPECT_THAT(binder.finish().error().message, HasSubstr("all its dimensions are numbers"));
}

TEST(DimBinding, RangesAreRefusedByName) {
  auto pinned = pinnedDims("default", {{"batch", 4, 4, 4}});
  ASSERT_TRUE(pinned);
  EXPECT_EQ(pinned->at("batch"), 4);
  auto range = pinnedDims("small", {{"batch", 1, 4, 8}});
  ASSERT_FALSE(range);
  EXPECT_EQ(range.error().code, Code::kUnimplemented);
  EXPECT_EQ(range.error().message,
            "profile 'small', dimension 'batch': shape ranges are not served by this toolchain yet; give min "
            "= opt = max");
}

}  // namespace
}  // namespace kiln::analysis
