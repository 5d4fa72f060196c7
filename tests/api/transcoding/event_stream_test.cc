#include "api/transcoding/event_stream.h"

#include <gtest/gtest.h>

#include "kiln/v1/job.pb.h"

namespace kiln::transcoding {
namespace {

TEST(EventStream, EventsEndWithAnEmptyLine) {
  EXPECT_EQ(event("message", "{}", 7), "id: 7\nevent: message\ndata: {}\n\n");
  EXPECT_EQ(event("end", "{}"), "event: end\ndata: {}\n\n");
  EXPECT_EQ(heartbeat(), ":\n\n");
}

TEST(EventStream, AMessageHasItsRevisionAsItsPlace) {
  v1::Job job;
  job.set_revision(9);
  EXPECT_EQ(placeOf(job), 9u);
  EXPECT_EQ(placeOf(v1::JobArtifact()), std::nullopt);
}

TEST(EventStream, APlaceIsANumber) {
  EXPECT_EQ(placeFrom("").value(), 0u);
  EXPECT_EQ(placeFrom("18446744073709551615").value(), 18446744073709551615u);
  for (const char* bad : {"x", "1x", "-1", "18446744073709551616", " 1", "1\n2"})
    EXPECT_EQ(placeFrom(bad).error().code, Code::kInvalidArgument) << bad;
}

}  // namespace
}  // namespace kiln::transcoding
