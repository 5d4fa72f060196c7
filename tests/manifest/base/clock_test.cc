#include "manifest/base/clock.h"

#include <gtest/gtest.h>

namespace kiln {
namespace {

TEST(Rfc3339, RoundTrips) {
  for (const char* text :
       {"1970-01-01T00:00:00Z", "2024-02-29T23:59:59Z", "2026-11-20T05:23:32Z", "9999-12-31T00:00:00Z"})
    EXPECT_EQ(rfc3339(parseRfc3339(text).value()), text);
}

TEST(Rfc3339, AlwaysHasAYearOfFourDigits) {
  EXPECT_EQ(rfc3339(TimePoint(std::chrono::seconds(-62'135'596'800))), "0001-01-01T00:00:00Z");
  EXPECT_EQ(rfc3339(TimePoint(std::chrono::seconds(-30'610'224'001))), "0999-12-31T23:59:59Z");
}

TEST(Rfc3339, HasOneForm) {
  for (const char* text :
       {"", "2026-11-20", "2026-11-20T05:23:32", "2026-11-20t05:23:32Z", "2026-11-20T05:23:32+00:00",
        "2026-11-20T05:23:32.5Z", "2026-02-29T00:00:00Z", "2026-13-01T00:00:00Z", "2026-11-20T24:00:00Z",
        "2026-11-20T05:60:00Z", "1969-12-31T23:59:59Z", "2026-11-20T05:23:3xZ"})
    EXPECT_EQ(parseRfc3339(text).error().code, Code::kInvalidArgument) << text;
}

}  // namespace
}  // namespace kiln
