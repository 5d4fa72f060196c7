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

TEST(ProfileOption, SizesThatAreMultiples) {
  const auto profiles = parseProfiles({"H=32:640:1280:32,W=64:64:64:16", "k[0]=0:4:8:4", "N=1:2:3:1"});
  ASSERT_TRUE(profiles) << profiles.error().message;
  const auto& dims = profiles->front().dims;
  EXPECT_EQ(dims.at("H"), (DimRange{32, 640, 1280, 32}));
  EXPECT_EQ(dims.at("W").multiple, 16);
  EXPECT_EQ(dims.at("k[0]").multiple, 4);
  EXPECT_EQ(dims.at("N"), (DimRange{1, 2, 3}));
  for (const char* option : {"H=1:640:1280:32", "H=32:650:1280:32", "H=32:640:1281:32", "H=32:640:1280:0",
                             "k[0]=1:4:8:4", "H=32:32:32:8589934592"})
    EXPECT_THAT(refusal(option), HasSubstr("which are not all multiples of")) << option;
}

TEST(ProfileOption, RefusesWhatGivesNoDimension) {
  for (const char* option :
       {"", "N", "=1", "N=", "N=1,M", "N=1,", "N=3:2:1", "N=1:2", "N=-1", "N=1:1:1:", "N=1:1:1:1:1"}) {
    if (std::string_view(option).empty() || std::string_view(option) == "N=1,") continue;
    EXPECT_THAT(refusal(option), HasSubstr("give [PROFILE:]DIM=min:opt:max")) << option;
  }
  EXPECT_THAT(refusal("N=1,N=2"), HasSubstr("dimension \"N\" is given twice"));
}

TEST(ProfileOption, DimensionsHaveNamesInUtf8) {
  EXPECT_EQ(refusal("\xe4=1:2:4"),
            "--profile ?=1:2:4: the dimension \"?\" is no UTF-8, as the names of models are");
}

// What no dimension can be is the option's fault, and is told before anything is sent.
TEST(ProfileOption, RangesThatNoDimensionHas) {
  for (const char* option : {"N=0:1:4", "N=0:0:1", "N=1:2:2147483649", "N=2147483649"})
    EXPECT_THAT(refusal(option),
                testing::AllOf(HasSubstr(option), HasSubstr("dimension \"N\""), HasSubstr("to 2147483648")))
        << option;
  // A cache before its first run is empty: one size may be 0, a range not.
  for (const char* option : {"N=0", "N=0:0:0", "N=1:1:1", "N=1:2:2147483648", "k[0]=0:1:4"})
    EXPECT_EQ(refusal(option), "taken") << option;
}

TEST(ProfileOption, NamesOfProfilesAreThoseOfFolders) {
  for (const std::string& name : {std::string("gr\xc3\xb6\xc3\x9f"
                                              "e"),
                                  std::string("a\tb"), std::string(300, 'a'), std::string("."),
                                  std::string(".."), std::string(".hidden"), std::string("a/b"),
                                  std::string("a\\b"), std::string("fixtures.json"), std::string("\xff")})
    EXPECT_THAT(refusal(name + ":N=1"), testing::AllOf(HasSubstr("--profile "), HasSubstr("profile name"),
                                                       HasSubstr("1 to 200 printable ASCII characters")))
        << name;
  for (const std::string& name : {std::string("small batch"), std::string("v1.2_a-b"), std::string(200, 'a')})
    EXPECT_EQ(refusal(name + ":N=1"), "taken") << name;
}

}  // namespace
}  // namespace kiln
