#include "api/cli/view/stage_view.h"

#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "api/cli/view/json_text.h"

namespace kiln::cli {
namespace {

using testing::HasSubstr;
using testing::Not;

std::string shown(const Json& stages) {
  return fmt::format("{}\n", fmt::join(stageLines(stages), "\n"));
}

Json kernel(int number, std::uint64_t moved, std::uint64_t code) {
  return {{"symbol", "kiln_k" + std::to_string(number)},
          {"nodes", {"n" + std::to_string(number)}},
          {"rule", "rows"},
          {"tasks", 4},
          {"schedule", {{"tile", {48}}}},
          {"codeBytes", std::to_string(code)},
          {"movedBytes", std::to_string(moved)}};
}

TEST(StageView, StagesStandInPipelineOrder) {
  const Json any = Json::object();
  const auto lines = stageLines({{"package", any},
                                 {"plan", any},
                                 {"analyse", any},
                                 {"capture", any},
                                 {"codegen", any},
                                 {"rewrite", any},
                                 {"schedule", any},
                                 {"partition", any}});
  std::vector<std::string> names;
  for (const std::string& line : lines)
    if (!line.starts_with(" ")) names.push_back(line);
  EXPECT_EQ(names, (std::vector<std::string>{"capture", "analyse", "rewrite", "partition", "schedule",
                                             "codegen", "plan", "package"}));
}

TEST(StageView, PassesAreATableOfWhatTheyChanged) {
  const std::string text = shown({{"rewrite",
                                   {{"profile", "p"},
                                    {"passes",
                                     {{{"name", "fold"}, {"before", 120}, {"after", 9}},
                                      {{"name", "simplify"}, {"before", 9}, {"after", 9}}}},
                                    {"fusionGroups", {{{"nodes", {"a", "b"}}}, {{"nodes", {"c"}}}}}}}});
  EXPECT_THAT(text, HasSubstr("  pass  before  after\n  fold     120      9\n"));
  EXPECT_THAT(text, HasSubstr("1 pass left the number of operations as it was"));
  EXPECT_THAT(text, HasSubstr("fused      3 nodes in 2 groups"));
  EXPECT_THAT(text, HasSubstr("profile    p"));
}

TEST(StageView, KernelsAreSortedByTheBytesTheyMove) {
  const std::string text = shown({{"schedule", {{"kernels", {kernel(0, 100, 300), kernel(1, 300, 100)}}}}});
  EXPECT_THAT(text, HasSubstr("2 kernels by their share of bytes moved (400 B) and of code (400 B)"));
  EXPECT_THAT(text, HasSubstr("  75.0 %  25.0 %      4  rows  tile 48 (default)  kiln_k1  n1\n"
                              "  25.0 %  75.0 %      4  rows  tile 48 (default)  kiln_k0  n0\n"));
}

TEST(StageView, OfManyKernelsTheLargestAndWhatTheOthersMake) {
  Json kernels = Json::array();
  for (int i = 0; i < 30; ++i) kernels.push_back(kernel(i, i == 0 ? 71 : 1, 1));
  const std::string text = shown({{"schedule", {{"kernels", kernels}}}});
  EXPECT_THAT(text, HasSubstr("and 6 kernels more with 6.0 % of the bytes (--json lists all)"));
}

TEST(StageView, KernelsOfADeviceMoveWhatTheirDeviceSays) {
  Json onDevice = kernel(0, 0, 0);
  onDevice.erase("movedBytes");
  onDevice["device"] = {{"movedBytes", "4096"}, {"registers", 40}};
  const std::string text = shown({{"schedule", {{"kernels", Json::array({onDevice})}}}});
  EXPECT_THAT(text, HasSubstr("100.0 %"));
  EXPECT_THAT(text, HasSubstr("on device"));
}

TEST(StageView, MemoryOverTimeIsAChart) {
  const std::string text = shown({{"plan",
                                   {{"profiles",
                                     {{{"profile", "p"},
                                       {"peakBytes", "4096"},
                                       {"buffers", 3},
                                       {"aliveBytes", {"1000", "4000", "500"}}}}}}}});
  EXPECT_THAT(text, HasSubstr("arena      4.1 kB for 3 buffers"));
  EXPECT_THAT(text, HasSubstr("4.0 kB     | █ \n"));
  EXPECT_THAT(text, HasSubstr("|██▄\n"));
}

TEST(StageView, WhatItDoesNotKnowIsNamedWithItsSize) {
  const std::string text = shown({{"package", {{"abi", 2}, {"weights", {1, 2, 3}}, {"by", {{"a", 1}}}}}});
  EXPECT_THAT(text, HasSubstr("abi        2\n"));
  EXPECT_THAT(text, HasSubstr("weights    3 entries (--json lists them)\n"));
  EXPECT_THAT(text, Not(HasSubstr("[")));
}

TEST(StageView, AnythingMayStandThere) {
  for (const char* stage :
       {"capture", "analyse", "rewrite", "partition", "schedule", "codegen", "plan", "package"})
    for (const Json& facts :
         {Json(), Json(7), Json("x"), Json::array({1}), Json{{"passes", 1}, {"kernels", {1, nullptr}}},
          Json{{"profiles", {1, {{"aliveBytes", {"x", -1, nullptr}}, {"regions", {2}}}}}},
          Json{{"nodesByOp", {1, "x"}},
               {"unsupported", {3}},
               {"dims", 4},
               {"features", {1}},
               {"warnings", {2}}}})
      EXPECT_FALSE(stageLines({{stage, facts}}).empty()) << stage << " " << facts;
  EXPECT_TRUE(stageLines(Json(3)).empty());
}

TEST(JsonText, PermilleAndFirsts) {
  EXPECT_EQ(permilleOf({{"p", 875}}, "p"), "87.5 %");
  EXPECT_EQ(permilleOf({{"p", "odd"}}, "p"), "odd");
  EXPECT_EQ(firstOf({{"l", {"a", 2, "c"}}}, "l", 2), "a, 2 and 1 more");
  EXPECT_EQ(countOf({{"n", "12"}}, "n"), 12u);
  EXPECT_EQ(countOf({{"n", -1}}, "n"), 0u);
}

}  // namespace
}  // namespace kiln::cli
