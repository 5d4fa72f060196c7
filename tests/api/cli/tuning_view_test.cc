#include "api/cli/tuning_view.h"

#include <gtest/gtest.h>

namespace kiln::cli {
namespace {

TEST(TuningView, SchedulesWithTheEntriesTheyAreFrom) {
  const Json schedule = {{"kernels",
                          {{{"symbol", "kiln_k0"}, {"schedule", {{"tile", {96, 256}}, {"pack", {1}}}}},
                           {{"symbol", "kiln_k1"}, {"schedule", {{"tile", {48}}}}, {"tuned", "sha256:12"}},
                           {{"symbol", "kiln_k2"}}}}};
  EXPECT_EQ(scheduleLines(schedule),
            (std::vector<std::string>{"kiln_k0: pack 1, tile 96x256 (default)",
                                      "kiln_k1: tile 48, tuned by entry sha256:12"}));
}

TEST(TuningView, AnythingElseIsLeftOut) {
  for (const Json& facts : {Json(), Json(3), Json{{"kernels", 1}}, Json{{"kernels", {1, "x", Json::array()}}},
                            Json{{"kernels", {{{"schedule", "odd"}}}}}})
    EXPECT_TRUE(scheduleLines(facts).empty());
}

}  // namespace
}  // namespace kiln::cli
