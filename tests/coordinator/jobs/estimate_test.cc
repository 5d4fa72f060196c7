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

using index::ActionKind;
using index::Expectation;

NewRun wanted(const index::ActionRecord& action) {
  return {action, {}, {}};
}

std::string listed(const std::vector<PlannedRuns>& planned) {
  std::string out;
  for (const PlannedRuns& one : planned)
    out += std::to_string(static_cast<int>(one.work.kind)) + " " + one.work.target + " x" +
           std::to_string(one.runs) + "; ";
  return out;
}

TEST(PlannedRuns, AreWhatIsQueuedAndWhatComesAfterIt) {
  index::JobSnapshot job = plannedJob();
  DeliverySpec delivery;
  delivery.builders = 2;
  const std::vector<NewRun> first{wanted(referenceAction()), wanted(compileAction()),
                                  wanted(compileAction())};
  EXPECT_EQ(listed(plannedRuns(job, delivery, first)), "2  x1; 3 cpu:x86-64-v3 x2; ");
  delivery.check = CheckRequest{};
  EXPECT_EQ(listed(plannedRuns(job, delivery, first)), "2  x1; 3 cpu:x86-64-v3 x2; 4 cpu:x86-64-v3 x1; ");
  delivery.tuning = TuningRequest{.search = true};
  EXPECT_EQ(listed(plannedRuns(job, delivery, {})),
            "7 cpu:x86-64-v3 x1; 3 cpu:x86-64-v3 x2; 4 cpu:x86-64-v3 x1; ");
  job.sources[0].blob.reset();
  EXPECT_EQ(listed(plannedRuns(job, delivery, {})), "") << "nobody knows the model yet";
}

Expectation after(double seconds, bool ofTheSubject = true) {
  return {seconds, 3, ofTheSubject};
}

TEST(EstimateOfAJob, AddsUpAllRunsAndFollowsTheLongestChain) {
  const auto runs = [](ActionKind kind, const std::string& target, int count = 1) {
    return PlannedRuns{{kind, target, {}}, count};
  };
  const std::vector<PlannedRuns> planned{runs(ActionKind::kReference, ""), runs(ActionKind::kPlan, "a"),
                                         runs(ActionKind::kTune, "a"),     runs(ActionKind::kCompile, "a", 2),
                                         runs(ActionKind::kCompile, "b"),  runs(ActionKind::kCheck, "a"),
                                         runs(ActionKind::kCheck, "b")};
  const Estimate estimate =
      estimateOf(planned, {after(10), after(1), after(60), after(100), after(150), after(5), after(7)});
  EXPECT_DOUBLE_EQ(estimate.workerSeconds, 10 + 1 + 60 + 200 + 150 + 5 + 7);
  EXPECT_DOUBLE_EQ(estimate.atLeast, 1 + 60 + 100 + 5) << "of a, which is longer than 150 + 7 of b";
  EXPECT_NE(estimate.basis.find("compile for a 2 x 100 s after 3 earlier runs"), std::string::npos)
      << estimate.basis;
  EXPECT_DOUBLE_EQ(
      estimateOf(planned, {after(500), after(1), after(60), after(100), after(150), after(5), after(7)})
          .atLeast,
      507)
      << "nothing is checked before the reference was";
}

TEST(EstimateOfAJob, WhatOthersOfItsSizeTookDoesNotCount) {
  const std::vector<PlannedRuns> planned{{{ActionKind::kCompile, "a", {}}, 1},
                                         {{ActionKind::kReference, "", {}}, 1}};
  const Estimate estimate = estimateOf(planned, {after(1000, false), std::nullopt});
  EXPECT_DOUBLE_EQ(estimate.workerSeconds, 0);
  EXPECT_DOUBLE_EQ(estimate.atLeast, 0);
  EXPECT_EQ(estimate.basis, "");
}

}  // namespace
}  // namespace kiln::jobs
