// Rules that name something which the model does not have.
#include "compiler_core/frontend/onnx/reader/rule_names.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "compiler_core/frontend/onnx/reader/parse.h"
#include "compiler_core/frontend/rules/model_names.h"
#include "tests/support/onnx_builder.h"

namespace kiln::onnx {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using namespace testing_support;

constexpr char kTarget[] = "cpu:x86-64-v3";

std::vector<std::string> unknown(const OnnxBuilder& builder, const PartitionRules& rules) {
  const std::string bytes = builder.build();
  const auto model = parseModel(asBytes(bytes));
  EXPECT_TRUE(model) << model.error().message;
  return model ? unknownNames(*model, rules) : std::vector<std::string>();
}

// A node of the graph, a call and an If with others inside.
OnnxBuilder nested() {
  OnnxBuilder body, model;
  body.output("a").node("Softmax", {"x"}, {"a"}, {}, "inside");
  OnnxFunction twice("com.example", "Twice", {"v"}, {"w"});
  twice.node("Add", {"v", "v"}, {"w"}, {}, "sum");
  model.input("x", {4}).input("c", {}, kOnnxBool).output("y").output("z");
  model.importDomain("com.example", 1)
      .function(twice)
      .node("Relu", {"x"}, {"r"}, {}, "first")
      .node("Twice", {"r"}, {"y"}, {}, "call", "com.example")
      .node("If", {"c"}, {"z"}, {onnxGraph("then_branch", body), onnxGraph("else_branch", body)}, "branch");
  return model;
}

TEST(RuleNames, WhatIsThereCountsWhereverItStands) {
  for (const char* pattern : {"*", "op:*", "op:Relu", "op:S*max", "op:Add", "op:If", "first", "f*t", "*st",
                              "call/sum", "call/*", "branch/inside", "branch/then/inside", "*/inside", "c*m"})
    EXPECT_THAT(unknown(nested(), {.affinities = {{pattern, kTarget}}}), IsEmpty()) << pattern;
  EXPECT_THAT(unknown(nested(), {.fallbackOperators = {"Add", "Relu", "Softmax"}}), IsEmpty());
  EXPECT_THAT(unknown(OnnxBuilder().input("x", {1}).output("x"), {.affinities = {{"*", kTarget}}}),
              IsEmpty());
}

TEST(RuleNames, WhatIsNotIsNamedWithItsOptionAndWhatIsNear) {
  EXPECT_THAT(
      unknown(nested(), {.affinities = {{"op:Sofmax", kTarget}, {"op:Relu", kTarget}},
                         .exclusions = {{"furst", kTarget}, {"Relu", kTarget}},
                         .fallbackOperators = {"op:Add"}}),
      ElementsAre(
          "--affinity \"op:Sofmax=cpu:x86-64-v3\": the model has no operator \"Sofmax\"; did you mean "
          "\"Softmax\"?",
          "--exclude \"furst=cpu:x86-64-v3\": the model has no node \"furst\"; did you mean \"first\"?",
          "--exclude \"Relu=cpu:x86-64-v3\": the model has no node \"Relu\"; of an operator it is "
          "\"op:Relu\"",
          HasSubstr("--fallback-allow: the model has no operator \"op:Add\"")));
  for (const char* pattern : {"first/x", "call/nothing", "other/sum", "op:Twice", "op:X*", "x*"})
    EXPECT_THAT(unknown(nested(), {.affinities = {{pattern, kTarget}}}), testing::SizeIs(1)) << pattern;
}

// "stablehlo." in front of each operator of a program is what one forgets.
TEST(RuleNames, AnOperatorWithoutItsDialectIsNear) {
  const frontend::ModelNames names{{"stablehlo.dot_general", "stablehlo.add", "func.call"}, {}, {}, {}};
  EXPECT_THAT(frontend::unknownNames(names, {.affinities = {{"op:dot_general", kTarget}}}),
              ElementsAre(HasSubstr("did you mean \"stablehlo.dot_general\"?")));
  EXPECT_THAT(frontend::unknownNames(names, {.fallbackOperators = {"dot_generl"}}),
              ElementsAre(HasSubstr("did you mean \"stablehlo.dot_general\"?")));
}

}  // namespace
}  // namespace kiln::onnx
