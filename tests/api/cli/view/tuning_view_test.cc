#include "api/cli/view/tuning_view.h"

#include <gtest/gtest.h>

namespace kiln::cli {
namespace {

TEST(TuningView, SchedulesWithTheEntriesTheyAreFrom) {
  EXPECT_EQ(scheduleText({{"symbol", "kiln_k0"}, {"schedule", {{"tile", {96, 256}}, {"pack", {1}}}}}),
            "pack 1, tile 96x256 (default)");
  EXPECT_EQ(scheduleText({{"symbol", "kiln_k1"}, {"schedule", {{"tile", {48}}}}, {"tuned", "sha256:12"}}),
            "tile 48, tuned by entry sha256:12");
  EXPECT_EQ(scheduleText({{"symbol", "kiln_k1"}, {"schedule", {{"tile", {48}}}}, {"catalogue", "sha256:34"}}),
            "tile 48, by entry sha256:34 of the toolchain's catalogue");
}

TEST(TuningView, AnythingElseIsLeftOut) {
  for (const Json& kernel :
       {Json(), Json(3), Json("x"), Json::array(), Json{{"symbol", "kiln_k2"}}, Json{{"schedule", "odd"}}})
    EXPECT_EQ(scheduleText(kernel), "");
}

}  // namespace
}  // namespace kiln::cli
