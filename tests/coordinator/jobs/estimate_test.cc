#include "coordinator/jobs/estimate.h"

#include <gtest/gtest.h>

#include "tests/coordinator/jobs/snapshot_builder.h"

namespace kiln::jobs {
namespace {

using namespace testing;
using index::Subject;

Digest withSize(const char* text, std::uint64_t size) {
  Digest digest = digestOf(std::string_view(text));
  digest.size = size;
  return digest;
}

TEST(SubjectOfARun, IsTheModelAndTheSizeOfAllItsFiles) {
  index::JobSnapshot job = plannedJob();
  job.sources[0].blob = withSize("model", 1000);
  const Subject small = subjectOf(job, compileAction());
  EXPECT_EQ(small, (Subject{withSize("model", 0), 10}));
  EXPECT_EQ(subjectOf(job, referenceAction()), small);
  job.sources.push_back({"weights.bin", withSize("weights", 1 << 20), {}, {}});
  EXPECT_EQ(subjectOf(job, compileAction()), (Subject{withSize("model", 0), 21}));
}

TEST(SubjectOfARun, OfAFetchIsTheRepository) {
  index::JobSnapshot job = plannedJob();
  job.sources[0] = {"model.onnx", {}, index::GitSource{"https://example.org/r", "c1", "model.onnx"}, {}};
  const index::ActionRecord fetch{index::ActionKind::kFetch, "", digestOf(std::string_view("f")), 0};
  const Subject first = subjectOf(job, fetch);
  job.sources[0].git->commit = "c2";
  EXPECT_EQ(subjectOf(job, fetch), first);
  job.sources[0].git->url = "https://example.org/other";
  EXPECT_NE(subjectOf(job, fetch), first);
}

}  // namespace
}  // namespace kiln::jobs
