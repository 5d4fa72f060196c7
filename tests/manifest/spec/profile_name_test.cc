// Names of profiles: one rule for everybody who reads them.
#include "manifest/spec/profile_name.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "manifest/spec/compile_spec.h"

namespace kiln {
namespace {

using testing::HasSubstr;

// What the farm reads of a submission, and the compiler of a spec.
std::string refusalOf(const std::string& name, std::int64_t least = 1) {
  CompileSpec spec;
  const Json profiles = Json::array(
      {{{"name", name}, {"dims", Json::array({{{"dim", "N"}, {"min", least}, {"opt", 2}, {"max", 4}}})}}});
  const auto applied = applySubmitted({{"profiles", profiles}}, spec);
  return applied ? "taken" : applied.error().message;
}

TEST(ProfileName, EveryByteIsTakenOrRefusedAlikeEverywhere) {
  for (int byte = 1; byte < 128; ++byte) {
    const std::string name = std::string("a") + static_cast<char>(byte) + "b";
    const bool isUsable = byte >= 0x20 && byte < 0x7f && byte != '/' && byte != '\\';
    EXPECT_EQ(checkProfileName(name).has_value(), isUsable) << byte;
    EXPECT_EQ(refusalOf(name) == "taken", isUsable) << byte;
  }
  for (const char* name : {"", ".", ".a", "fixtures.json",
                           "gr\xc3\xb6\xc3\x9f"
                           "e",
                           "\xe2\x80\xae"}) {
    EXPECT_FALSE(checkProfileName(name)) << name;
    EXPECT_THAT(refusalOf(name), HasSubstr("1 to 200 printable ASCII characters")) << name;
  }
  EXPECT_TRUE(checkProfileName(std::string(200, 'a')));
  EXPECT_FALSE(checkProfileName(std::string(201, 'a')));
  EXPECT_EQ(checkProfileName("").error().code, Code::kInvalidArgument);
}

TEST(ProfileName, RangesOfASubmissionAreCheckedToo) {
  EXPECT_EQ(refusalOf("p"), "taken");
  EXPECT_THAT(refusalOf("p", 0), HasSubstr("profile \"p\": dimension \"N\" is 0:2:4; a range takes 1 to"));
  EXPECT_THAT(refusalOf("p", -3), HasSubstr("a range takes 1 to"));
}

}  // namespace
}  // namespace kiln
