#include "api/cli/view/partition_view.h"

#include <gtest/gtest.h>

namespace kiln::cli {
namespace {

TEST(PartitionView, ShowsMapTransfersAndFallback) {
  const Json facts = {
      {"partitions",
       {{{"target", "cpu:x86-64-v4"}, {"operations", 3}, {"nodes", {"a", "b"}}},
        {{"target", "cpu:x86-64-v3"}, {"operations", 1}, {"nodes", {"c"}}}}},
      {"transfers", {{{"node", "b"}, {"from", "cpu:x86-64-v4"}, {"to", "cpu:x86-64-v3"}, {"bytes", "64"}}}},
      {"transferBytes", "64"},
      {"fallback",
       {{{"node", "c"},
         {"op", "Softmax"},
         {"from", "cpu:x86-64-v4"},
         {"to", "cpu:x86-64-v3"},
         {"reason", "excluded"}}}},
      {"nodes", 3},
      {"fallbackPermille", 334}};
  EXPECT_EQ(partitionLines(facts),
            (std::vector<std::string>{
                "cpu:x86-64-v4        3 operations a, b",
                "cpu:x86-64-v3        1 operation c",
                "transfer             b from cpu:x86-64-v4 to cpu:x86-64-v3, 64 bytes",
                "transferBytes        64",
                "fallback             c (Softmax) from cpu:x86-64-v4 to cpu:x86-64-v3: excluded",
                "fallback             1 of 3 nodes, 33.4 %",
            }));
}

TEST(PartitionView, AnythingMayStandThere) {
  for (const Json& facts : {Json(), Json(7), Json::array({1}), Json{{"partitions", 1}, {"fallback", "x"}},
                            Json{{"partitions", {1, nullptr}}, {"transfers", Json::array({Json::array()})}}})
    EXPECT_EQ(partitionLines(facts).back(), "fallback             none");
}

}  // namespace
}  // namespace kiln::cli
