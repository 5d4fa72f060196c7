// Shape profiles as commands take them, and dimensions as commands advise them.
#include "manifest/spec/profile_option.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "manifest/spec/dim_option.h"

namespace kiln {
namespace {

using testing::HasSubstr;

std::string refusal(const std::string& option) {
  const auto profiles = parseProfiles({option});
  return profiles ? "taken" : profiles.error().message;
}

TEST(ProfileOption, DimensionsOfOneOrSeveralProfiles) {
  const auto profiles = parseProfiles({"N=1:2:3", "big:N=8,M=4:4:5", "M=7"});
  ASSERT_TRUE(profiles) << profiles.error().message;
  ASSERT_EQ(profiles->size(), 2u);
  EXPECT_EQ((*profiles)[0].name, "default");
  EXPECT_EQ((*profiles)[0].dims.at("N").opt, 2);
  EXPECT_EQ((*profiles)[0].dims.at("M").max, 7);
  EXPECT_EQ((*profiles)[1].name, "big");
  EXPECT_EQ((*profiles)[1].dims.at("N").min, 8);
  EXPECT_EQ((*profiles)[1].dims.at("M").max, 5);
}

// Exporters call dimensions and inputs what they like, and an unnamed dimension has its input's name.
TEST(ProfileOption, EachDimensionCanBeGivenAsItIsAdvised) {
  for (const char* name :
       {"N", "image:0.2", "a/b:0", "n=m", "n=m:k", "floordiv(s0, 2)", "2*s1 + 1", "größe"}) {
    const auto profiles = parseProfiles({dimOption(name) + "=3"});
    ASSERT_TRUE(profiles) << profiles.error().message;
    ASSERT_EQ(profiles->size(), 1u);
    EXPECT_EQ(profiles->front().name, "default") << name;
    EXPECT_TRUE(profiles->front().dims.contains(name)) << name;
    EXPECT_EQ(profiles->front().dims.size(), 1u) << name;
  }
}

TEST(ProfileOption, RefusesWhatGivesNoDimension) {
  for (const char* option : {"", "N", "=1", "N=", "N=1,M", "N=1,", "N=3:2:1", "N=1:2", "N=-1", "N=1:1:1:"}) {
    if (std::string_view(option).empty() || std::string_view(option) == "N=1,") continue;
    EXPECT_THAT(refusal(option), HasSubstr("give [PROFILE:]DIM=min:opt:max")) << option;
  }
  EXPECT_THAT(refusal("N=1,N=2"), HasSubstr("dimension \"N\" is given twice"));
}

}  // namespace
}  // namespace kiln
