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
  EXPECT_THAT(missing.error().message, HasSubstr("--profile time=MIN:OPT:MAX"));
  EXPECT_EQ(binder.bind("x", {{std::nullopt, "m"}}).error().code, Code::kFailedPrecondition);
  EXPECT_EQ(binder.bind("x", {{-5, ""}}).error().code, Code::kInvalidArgument);
  EXPECT_THAT(binder.finish().error().message, HasSubstr("all its dimensions are numbers"));
  EXPECT_EQ(binder.finish().error().code, Code::kFailedPrecondition) << "nothing is wrong with the model";
}

TEST(DimBinding, RangesStaySymbolic) {
  DimBinder binder({}, {{"n", {1, 8}}, {"k[0]", {2, 5}}});
  auto bound = binder.bind("x", {{std::nullopt, "n"}, {3, ""}});
  ASSERT_TRUE(bound) << bound.error().message;
  EXPECT_THAT(bound->shape, ElementsAre(kSymbolic, 3));
  EXPECT_THAT(bound->dimNames, ElementsAre("n", ""));
  EXPECT_THAT(binder.finish().error().message,
              HasSubstr("'k[0]', which no input of the model has; it has n"));
  EXPECT_EQ(binder.element("k", 0), (DimBounds{2, 5}));
  EXPECT_FALSE(binder.element("k", 1));
  EXPECT_TRUE(binder.finish());
}

TEST(DimBinding, ProfilesAreTakenTogether) {
  auto bounds = boundsOf({{"small", {{"n", 1, 1, 4}, {"m", 3, 3, 3}, {"k", 2, 2, 2}}},
                          {"large", {{"n", 2, 8, 16}, {"m", 3, 3, 3}, {"k", 5, 5, 5}}}});
  ASSERT_TRUE(bounds) << bounds.error().message;
  EXPECT_EQ(bounds->fixed, (DimValues{{"m", 3}}));
  EXPECT_EQ(bounds->ranges, (std::map<std::string, DimBounds>{{"n", {1, 16}}, {"k", {2, 5}}}));
  auto missing = boundsOf({{"small", {{"n", 1, 1, 4}}}, {"large", {}}});
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, Code::kFailedPrecondition);
  EXPECT_EQ(
      missing.error().message,
      "profile 'small' gives dimension 'n', profile 'large' does not; every profile gives every dimension");
}

TEST(DimBinding, MultiplesThatDivideAllProfiles) {
  const auto multipleOf = [](const std::vector<ProfileDim>& dims) {
    std::vector<Profile> profiles;
    for (const ProfileDim& dim : dims) profiles.push_back({std::to_string(profiles.size()), {dim}});
    const auto bounds = boundsOf(profiles);
    EXPECT_TRUE(bounds) << bounds.error().message;
    return bounds->ranges.at("h").multiple;
  };
  EXPECT_EQ(multipleOf({{"h", 32, 64, 128, 32}}), 32);
  EXPECT_EQ(multipleOf({{"h", 32, 64, 128, 32}, {"h", 48, 96, 144, 48}}), 16);
  EXPECT_EQ(multipleOf({{"h", 32, 64, 128, 32}, {"h", 1, 2, 3}}), 1);
  // One size is a multiple of itself, where somebody asks.
  EXPECT_EQ(multipleOf({{"h", 32, 64, 128, 32}, {"h", 640, 640, 640}}), 32);
  EXPECT_EQ(multipleOf({{"h", 64, 64, 64}, {"h", 128, 128, 128}}), 1);
}

}  // namespace
}  // namespace kiln::analysis
