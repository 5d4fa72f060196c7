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

// Each fact once: those that have words of their own, then the others by name.
TEST(StageView, CaptureNamesTheModelAndItsOperators) {
  EXPECT_EQ(
      shown(
          {{"capture",
            {{"format", "onnx"},
             {"producer", "pytorch"},
             {"producerVersion", "2.9"},
             {"irVersion", 10},
             {"opsets", {{{"name", "ai.onnx"}, {"version", 21}}, {{"name", "com.example"}, {"version", 1}}}},
             {"nodes", 3},
             {"served", 2},
             {"nodesByOp", {{{"name", "Conv"}, {"count", 2}}, {{"name", "Odd"}, {"count", 1}}}},
             {"customOps", {"com.example::Odd", 5}},
             {"unsupported", {{{"node", "n3"}, {"op", "Odd"}, {"reason", "no rule"}}}},
             {"weights", 4}}}}),
      R"(capture
  model      ONNX of pytorch 2.9, IR version 10
  opsets     ai.onnx 21, com.example 1
  nodes      3, 2 served
  operators  Conv 2, Odd 1
  custom     com.example::Odd, 5
  not served n3 (Odd): no rule
  weights    4
)");
  EXPECT_EQ(shown({{"capture", {{"format", "onnx"}, {"irVersion", 7}, {"nodes", 1}, {"served", 1}}}}),
            "capture\n  model      ONNX, IR version 7\n  nodes      1, 1 served\n");
  EXPECT_EQ(shown({{"capture",
                    {{"format", "stablehlo"},
                     {"producer", "StableHLO_v1.17.0"},
                     {"irVersion", 0},
                     {"nodes", 1},
                     {"served", 1}}}}),
            "capture\n  model      StableHLO of StableHLO_v1.17.0\n  nodes      1, 1 served\n");
}

TEST(StageView, ALongListGoesOnBelow) {
  Json operators = Json::array();
  for (int i = 10; i < 20; ++i) operators.push_back({{"name", "Operator" + std::to_string(i)}, {"count", 1}});
  EXPECT_THAT(shown({{"capture", {{"nodesByOp", operators}}}}), HasSubstr(R"(
  operators  Operator10 1, Operator11 1, Operator12 1, Operator13 1, Operator14 1, Operator15 1,
             Operator16 1, Operator17 1, Operator18 1, Operator19 1
)"));
}

TEST(StageView, AnalyseNamesDimensionsAndWhatWasFolded) {
  EXPECT_EQ(
      shown({{"analyse",
              {{"dims", {{{"name", "N"}, {"value", 8}}, {{"name", "S"}, {"value", 128}}}},
               {"foldedNodes", 1},
               {"profile", "p"}}}}),
      "analyse\n  dimensions N 8, S 128\n  folded     1 node, whose results are constants\n  profile    p\n");
  EXPECT_EQ(shown({{"analyse", {{"foldedNodes", 2}}}}),
            "analyse\n  folded     2 nodes, whose results are constants\n");
}

TEST(StageView, PassesAreATableOfWhatTheyChanged) {
  const Json changed{{"name", "fold"}, {"before", 120}, {"after", 9}},
      same{{"name", "simplify"}, {"before", 9}, {"after", 9}};
  const auto passes = [](const Json& list) { return shown({{"rewrite", {{"passes", list}}}}); };
  EXPECT_EQ(shown({{"rewrite",
                    {{"profile", "p"},
                     {"passes", {changed, same}},
                     {"fusionGroups", {{{"nodes", {"a", "b"}}}, {{"nodes", {"c"}}}}}}}}),
            R"(rewrite
  pass  before  after
  fold     120      9
  1 pass left the number of operations as it was
  fused      3 nodes in 2 groups
  profile    p
)");
  EXPECT_EQ(passes(Json::array({changed})),
            "rewrite\n  pass  before  after\n  fold     120      9\n  fused      0 nodes in 0 groups\n");
  EXPECT_EQ(passes({same, same}),
            "rewrite\n  2 passes left the number of operations as it was\n"
            "  fused      0 nodes in 0 groups\n");
  EXPECT_EQ(passes(Json::array()), "rewrite\n  fused      0 nodes in 0 groups\n");
}

TEST(StageView, ScheduleNamesVectorsPassesAndKernels) {
  EXPECT_EQ(shown({{"schedule",
                    {{"registerBits", 256},
                     {"accumulators", 8},
                     {"passes", {{{"name", "tile"}, {"before", 3}, {"after", 3}}}},
                     {"kernels", {kernel(0, 100, 300), kernel(1, 300, 100)}},
                     {"profile", "p"}}}}),
            R"(schedule
  vectors    256 bits, 8 accumulators
  1 pass left the number of operations as it was
  2 kernels by their share of bytes moved (400 B) and of code (400 B)
   bytes    code  tasks  rule  schedule           kernel   nodes
  75.0 %  25.0 %      4  rows  tile 48 (default)  kiln_k1  n1
  25.0 %  75.0 %      4  rows  tile 48 (default)  kiln_k0  n0
  profile    p
)");
  EXPECT_THAT(shown({{"schedule", {{"kernels", Json::array({kernel(0, 0, 0)})}}}}),
              HasSubstr("  1 kernel by its share of bytes moved (0 B) and of code (0 B)\n"
                        "  bytes  code  tasks  rule  schedule           kernel   nodes\n"
                        "                   4  rows  tile 48 (default)  kiln_k0  n0\n"))
      << "of nothing there are no shares";
}

TEST(StageView, KernelsThatMoveAsMuchAreSortedByTheirCode) {
  const Json large = kernel(0, 50, 30), small = kernel(1, 50, 20), other = kernel(2, 50, 20);
  const std::string text = shown({{"schedule", {{"kernels", {small, other, large}}}}});
  EXPECT_LT(text.find("kiln_k0"), std::min(text.find("kiln_k1"), text.find("kiln_k2"))) << text;
  EXPECT_EQ(text, shown({{"schedule", {{"kernels", {other, large, small}}}}})) << "whatever their order was";
}

TEST(StageView, OfManyKernelsTheLargestAndWhatTheOthersMake) {
  const auto textOf = [](int count) {
    Json kernels = Json::array();
    for (int i = 0; i < count; ++i) kernels.push_back(kernel(i, i == 0 ? 101 - count : 1, 1));
    return shown({{"schedule", {{"kernels", kernels}}}});
  };
  EXPECT_THAT(textOf(30), HasSubstr("and 6 kernels more with 6.0 % of the bytes (--json lists all)"));
  EXPECT_THAT(textOf(25), HasSubstr("and 1 kernel more with 1.0 % of the bytes (--json lists all)"));
  const std::string all = textOf(24);
  EXPECT_THAT(all, Not(HasSubstr("more")));
  for (int i = 0; i < 24; ++i) EXPECT_THAT(all, HasSubstr("kiln_k" + std::to_string(i) + " "));
}

TEST(StageView, KernelsOfADeviceMoveWhatTheirDeviceSays) {
  Json onDevice = kernel(0, 0, 0);
  onDevice.erase("movedBytes");
  onDevice["device"] = {{"movedBytes", "4096"}, {"registers", 40}};
  const std::string text = shown({{"schedule", {{"kernels", Json::array({onDevice})}}}});
  EXPECT_THAT(text, HasSubstr("100.0 %"));
  EXPECT_THAT(text, HasSubstr("on device"));
}

TEST(StageView, CodegenNamesCodeProcessorAndWarnings) {
  EXPECT_EQ(shown({{"codegen",
                    {{"codeBytes", "1500"},
                     {"kernels", 2},
                     {"programBytes", "9000"},
                     {"triple", "x86_64-unknown-linux-gnu"},
                     {"cpu", "x86-64-v3"},
                     {"features", {"+avx2", "+fma", 3}},
                     {"warnings", {"odd", 7}},
                     {"profile", "p"}}}}),
            R"(codegen
  code       1.5 kB in 2 kernels; 9.0 kB the program
  for        x86_64-unknown-linux-gnu, x86-64-v3
  features   +avx2, +fma, 3
  warning    odd
  warning    7
  profile    p
)");
}

TEST(StageView, PlanNamesTheMemoryOfEachProfileWithAChart) {
  EXPECT_EQ(shown({{"plan",
                    {{"profiles",
                      {{{"profile", "p"},
                        {"peakBytes", "4096"},
                        {"buffers", 3},
                        {"lowerBoundBytes", "4000"},
                        {"unsharedBytes", "5500"},
                        {"reuseRatio", 0.7},
                        {"scratchBytesPerSlot", "64"},
                        {"inputBytes", "16"},
                        {"outputBytes", "8"},
                        {"weightBytes", "1000"},
                        {"regions", {{{"bytes", "4096"}, {"target", "cpu:x86-64-v3"}}}},
                        {"aliveBytes", {"1000", "4000", "500"}},
                        {"devices", 2}},
                       {{"profile", "q"}, {"buffers", 1}}}},
                     {"aligned", 64}}}}),
            "plan\n"
            "  profile    p\n"
            "  arena      4.1 kB for 3 buffers; 4.0 kB alive at once, 5.5 kB if none shared memory\n"
            "  besides    64 B scratch per thread, 16 B inputs, 8 B outputs, 1.0 kB weights\n"
            "  region     4.1 kB of cpu:x86-64-v3\n"
            "  4.0 kB     | █ \n"
            "             | █ \n"
            "             | █ \n"
            "             |██▄\n"
            "             memory alive from the first kernel to the last\n"
            "  devices    2\n"
            "  profile    q\n"
            "  arena      0 B for 1 buffer; 0 B alive at once, 0 B if none shared memory\n"
            "  besides    0 B scratch per thread, 0 B inputs, 0 B outputs, 0 B weights\n"
            "  aligned    64\n");
}

TEST(StageView, WhatItDoesNotKnowIsNamedWithItsSize) {
  const std::string text = shown({{"package", {{"abi", 2}, {"weights", {1, 2, 3}}, {"by", {{"a", 1}}}}}});
  EXPECT_THAT(text, HasSubstr("abi        2\n"));
  EXPECT_THAT(text, HasSubstr("weights    3 entries (--json lists them)\n"));
  EXPECT_THAT(text, Not(HasSubstr("[")));
  EXPECT_EQ(shown({{"package", 7}}), "package\n  facts      7\n");
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
