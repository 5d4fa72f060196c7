#include "manifest/spec/partition_rules.h"

#include <gtest/gtest.h>

#include "manifest/spec/compile_spec.h"
#include "tests/support/sample_spec.h"

namespace kiln {
namespace {

TEST(PartitionRules, PatternsMatchNamesAndOperators) {
  EXPECT_TRUE(matches("conv1", "conv1", "Conv"));
  EXPECT_FALSE(matches("conv", "conv1", "Conv"));
  EXPECT_TRUE(matches("*/conv*", "block/1/conv1", "Conv"));
  EXPECT_TRUE(matches("a*b*c", "aXbXbYc", ""));
  EXPECT_FALSE(matches("a*b*c", "aXbXbY", ""));
  EXPECT_TRUE(matches("op:Conv*", "x", "ConvTranspose"));
  EXPECT_FALSE(matches("op:*", "x", "")) << "no operator of the model";
  EXPECT_FALSE(matches("Conv", "x", "Conv")) << "a name unless op: says otherwise";
  EXPECT_TRUE(matches("*", "", ""));
  EXPECT_FALSE(matches(std::string(1000, '*') + "x", std::string(100000, 'y'), ""));
}

TEST(PartitionRules, AreReadFromOptions) {
  PartitionOptionTexts texts{.affinities = {"a=b=cpu:x86-64-v3"},
                             .exclusions = {"op:Softmax=cpu:x86-64-v4"},
                             .fallback = "cpu",
                             .fallbackOperators = {"Softmax", "Add", "Add"},
                             .fallbackPermille = 5};
  const auto rules = parseRules(texts);
  ASSERT_TRUE(rules) << rules.error().message;
  EXPECT_EQ(rules->affinities, (std::vector<PlacementRule>{{"a=b", "cpu:x86-64-v3"}}));
  EXPECT_EQ(rules->exclusions, (std::vector<PlacementRule>{{"op:Softmax", "cpu:x86-64-v4"}}));
  EXPECT_EQ(rules->fallbackOperators, (std::vector<std::string>{"Add", "Softmax"}));
  EXPECT_EQ(rules->fallbackPermille, 5);
  texts.fallback = "fail";
  EXPECT_EQ(parseRules(texts).error().code, Code::kInvalidArgument) << "limits of nothing";
  EXPECT_FALSE(parseRules({.fallback = "gpu"}));
  EXPECT_FALSE(parseRules({.fallback = "cpu", .fallbackPermille = 1001}));
  for (const char* text : {"", "a", "=a", "a="}) EXPECT_FALSE(parseRules({.affinities = {text}})) << text;
  EXPECT_EQ(*parseRules({}), PartitionRules{});
}

TEST(PartitionRules, NamesAreUtf8) {
  const auto messageOf = [](const PartitionOptionTexts& texts) {
    const auto rules = parseRules(texts);
    return rules ? std::string() : rules.error().message;
  };
  EXPECT_EQ(messageOf({.affinities = {"\xe4=cpu:x86-64-v3"}}),
            "--affinity \"?=cpu:x86-64-v3\" is no UTF-8, as the names of models are");
  EXPECT_EQ(messageOf({.exclusions = {"\xe4=cpu:x86-64-v3"}}).find("--exclude"), 0u);
  EXPECT_EQ(messageOf({.fallback = "cpu", .fallbackOperators = {"\xe4"}}).find("--fallback-allow"), 0u);
}

TEST(PartitionRules, NameTargetsThatAreThere) {
  const std::vector<std::string> both = {"cpu:x86-64-v4", "cpu:x86-64-v3"};
  EXPECT_TRUE(checkRules({.affinities = {{"a", "cpu:x86-64-v3"}}}, both));
  const auto bad = checkRules({.exclusions = {{"a", "cuda:sm_90a"}}}, both);
  ASSERT_FALSE(bad);
  EXPECT_NE(bad.error().message.find("a=cuda:sm_90a"), std::string::npos);
  EXPECT_NE(bad.error().message.find("cpu:x86-64-v4, cpu:x86-64-v3"), std::string::npos);
}

TEST(PartitionRules, StandInTheSpecWhereTheySaySomething) {
  CompileSpec spec = testing_support::sampleSpec();
  EXPECT_FALSE(spec.toJson().contains("partition"));
  spec.fallback = "cpu";
  spec.partition = {{{"a", "t"}}, {{"op:B", "u"}}, {"Add", "Softmax"}, 100};
  const Json json = spec.toJson();
  EXPECT_EQ(CompileSpec::fromJson(json).value(), spec);
  const auto broken = [&](auto change) {
    Json changed = json;
    change(changed["partition"]);
    const auto read = CompileSpec::fromJson(changed);
    return read ? std::string() : read.error().message;
  };
  EXPECT_NE(
      broken([](Json& j) { j["fallbackOperators"] = {"b", "a"}; }).find("spec.partition.fallbackOperators"),
      std::string::npos);
  EXPECT_NE(broken([](Json& j) { j["fallbackPermille"] = 1001; }).find("fallbackPermille"),
            std::string::npos);
  EXPECT_NE(broken([](Json& j) { j["affinities"][0]["pattern"] = ""; }).find("affinities[0].pattern"),
            std::string::npos);
  EXPECT_NE(broken([](Json& j) { j["more"] = 1; }).find("more"), std::string::npos);
  EXPECT_NE(broken([](Json& j) {
              j = {{"affinities", Json::array()},
                   {"exclusions", Json::array()},
                   {"fallbackOperators", Json::array()},
                   {"fallbackPermille", 1000}};
            }).find("left out"),
            std::string::npos);
}

}  // namespace
}  // namespace kiln
