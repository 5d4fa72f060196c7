// What the outside sees of an imported program. What each operation means is in tests/conformance/dialects.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "compiler_core/frontend/dialects/import/operation_table.h"
#include "compiler_core/ir/types.h"
#include "tests/compiler_core/frontend/dialects/run_program.h"

namespace kiln {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;
using namespace testing_support;

TEST(DialectsImport, NamesAreThoseOfLocationsAndOtherwiseNumbers) {
  const auto made = importText(
      "func.func @main(%x: tensor<2xf32> loc(\"image\"), %y: tensor<2xf32> loc(\"/home/a/model.py\":1:2), "
      "%z: "
      "tensor<2xf32> loc(\"image\")) -> (tensor<2xf32>, tensor<2xf32>) {\n"
      "%0 = tosa.add %x, %y : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32> "
      "loc(\"first\"(\"/home/a/model.py\":3:4))\n"
      "%1 = tosa.sub %0, %z : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>\n"
      "return %0, %1 : tensor<2xf32>, tensor<2xf32>\n}");
  ASSERT_TRUE(made) << made.error().message;
  const frontend::Captured& captured = (*made)->captured;
  std::vector<std::string> names;
  for (const auto& input : captured.inputs) names.push_back(input.name);
  for (const auto& output : captured.outputs) names.push_back(output.name);
  EXPECT_THAT(names, ElementsAre("image", "arg1", "image.2", "result0", "result1"));
  EXPECT_THAT(captured.operators, Contains(Pair("first", "tosa.add")));
  EXPECT_THAT(captured.operators, Contains(Pair("sub/1", "tosa.sub")));
  EXPECT_EQ(captured.capture.format, "tosa");
  EXPECT_EQ(captured.capture.nodes, 2);
  EXPECT_EQ(captured.capture.served, 2);
  // Nothing of the author's machine is left.
  std::string text;
  llvm::raw_string_ostream stream(text);
  mlir::ModuleOp module = captured.module.get();
  module.print(stream, mlir::OpPrintingFlags().enableDebugInfo());
  EXPECT_THAT(text, testing::Not(HasSubstr("/home/a")));
}

TEST(DialectsImport, FunctionsAreInlinedAndTheirOperationsNamedAfterTheCall) {
  const std::string text =
      mainOf("%x: tensor<2xf32>", "tensor<2xf32>",
             "%0 = func.call @twice(%x) : (tensor<2xf32>) -> tensor<2xf32>\n"
             "%1 = func.call @twice(%0) : (tensor<2xf32>) -> tensor<2xf32>\nreturn %1 : tensor<2xf32>",
             "func.func private @twice(%a: tensor<2xf32>) -> tensor<2xf32> {\n"
             "%0 = arith.addf %a, %a : tensor<2xf32>\nreturn %0 : tensor<2xf32>\n}");
  const auto made = importText(text);
  ASSERT_TRUE(made) << made.error().message;
  EXPECT_THAT((*made)->captured.operators, Contains(Pair("call/1/addf/0", "arith.addf")));
  EXPECT_THAT(elementsOf<float>(runText(text, {floats({2}, {1, 3})})), ElementsAre(4, 12));
}

TEST(DialectsImport, LargeConstantsAreWeights) {
  std::string list;
  for (int i = 0; i < 1024; ++i) list += (i ? "," : "") + std::to_string(i) + ".0";
  const std::string text =
      mainOf("%x: tensor<1024xf32>", "tensor<1024xf32>",
             "%c = \"tosa.const\"() <{values = dense<[" + list +
                 "]> : tensor<1024xf32>}> : () -> tensor<1024xf32>\n"
                 "%0 = tosa.add %x, %c : (tensor<1024xf32>, tensor<1024xf32>) -> tensor<1024xf32>\n"
                 "return %0 : tensor<1024xf32>");
  const auto made = importText(text);
  ASSERT_TRUE(made) << made.error().message;
  ASSERT_EQ((*made)->captured.weights.size(), 1);
  EXPECT_EQ((*made)->captured.weights.find(0)->shape, std::vector<std::int64_t>{1024});
  const auto got = elementsOf<float>(runText(text, {floats({1024}, std::vector<float>(1024, 1))}));
  ASSERT_EQ(got.size(), 1024u);
  EXPECT_EQ(got[1023], 1024);
}

TEST(DialectsImport, APinnedConditionTakesOneBranchAlone) {
  const std::string text =
      mainOf("%c: tensor<i1>, %x: tensor<2xf32>", "tensor<2xf32>",
             "%0 = \"tosa.cond_if\"(%c, %x) ({\n^bb0(%a: tensor<2xf32>):\n"
             "%1 = tosa.abs %a : (tensor<2xf32>) -> tensor<2xf32>\ntosa.yield %1 : tensor<2xf32>\n}, {\n"
             "^bb0(%a: tensor<2xf32>):\ntosa.yield %a : tensor<2xf32>\n}) : (tensor<i1>, tensor<2xf32>) -> "
             "tensor<2xf32>\n"
             "return %0 : tensor<2xf32>");
  frontend::ImportOptions options;
  options.pins["arg0"] = {std::int64_t{1}};
  const auto made = importText(text, options);
  ASSERT_TRUE(made) << made.error().message;
  (*made)->captured.module->walk(
      [](mlir::Operation* operation) { EXPECT_FALSE(llvm::isa<ir::IfOp>(operation)); });
}

TEST(DialectsImport, EachOperationHasOneRow) {
  std::set<std::string_view> names;
  for (const dialects::Row& row : dialects::allRows()) EXPECT_TRUE(names.insert(row.name).second) << row.name;
}

}  // namespace
}  // namespace kiln
