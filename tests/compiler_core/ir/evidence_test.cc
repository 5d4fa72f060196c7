#include <gtest/gtest.h>

#include "compiler_core/ir/evidence_json.h"
#include "compiler_core/ir/weight_table.h"

namespace kiln::ir {
namespace {

// Integers and strings, ASCII member names: names from models are values, never keys.
TEST(Evidence, IsCanonicalJson) {
  CaptureEvidence capture{
      .format = "onnx", .producer = "größe", .opsets = {{"ai.onnx", 13}}, .nodesByOp = {{"Größe:Op", 2}}};
  capture.unsupported.push_back({"n", "Op", "d", 3, "why"});
  AnalyseEvidence analyse{.dims = {{"größe", 4}}, .shapes = {{"x", "f32[4]"}}};
  RewriteEvidence rewrite{.passes = {{"cse", {}, 5, 4}}, .groups = {{{"a", "b"}, {"kiln.matmul"}}}};
  for (const Json& json : {toJson(capture), toJson(analyse), toJson(rewrite)})
    EXPECT_TRUE(toCanonicalJson(json)) << json.dump();
  EXPECT_EQ(
      toJson(analyse).dump(),
      R"({"dims":[{"name":"größe","value":4}],"foldedNodes":0,"shapes":[{"name":"x","type":"f32[4]"}]})");
}

TEST(WeightTable, IndicesStayAndForeignOnesAreNull) {
  WeightTable table;
  EXPECT_EQ(table.addOwned("a", DType::kBool, {2}, {0, 1}), 0);
  EXPECT_EQ(table.addOwned("b", DType::kBool, {1}, {1}), 1);
  EXPECT_EQ(table.find(0)->name, "a");
  EXPECT_EQ(table.find(2), nullptr);
  EXPECT_EQ(table.find(-1), nullptr);
}

}  // namespace
}  // namespace kiln::ir
