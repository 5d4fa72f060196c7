// What follows a publication, what tuning puts before a compile, and a deadline.
#include "coordinator/jobs/next_step.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/coordinator/jobs/snapshot_builder.h"

namespace kiln::jobs {
namespace {

using namespace testing;
using index::RunState;

template <class T>
T expectStep(const Step& step) {
  EXPECT_TRUE(std::holds_alternative<T>(step)) << "another step: alternative " << step.index();
  return std::holds_alternative<T>(step) ? std::get<T>(step) : T{};
}

DeliverySpec delivery(int builders = 1, int operators = 1) {
  DeliverySpec out;
  out.builders = builders;
  out.operators = operators;
  return out;
}

TEST(NextStep, AWantedCheckFollowsThePublication) {
  auto snapshot = plannedJob();
  auto wanted = delivery();
  wanted.check = CheckRequest{digestOf(std::string_view("{}")), {}};
  snapshot.results = {result(referenceAction(), "w1"), result(compileAction(), "w1")};
  expectStep<Publish>(nextStep(snapshot, wanted));
  snapshot.targets[0].artifact = digestOf(std::string_view("artifact"));
  EXPECT_EQ(expectStep<PlanCheck>(nextStep(snapshot, wanted)).target, 0);
  expectStep<End>(nextStep(snapshot, delivery()));

  const index::ActionRecord check{
      index::ActionKind::kCheck, "cpu:x86-64-v3", digestOf(std::string_view("check")), {}};
  snapshot.actions.push_back(check);
  auto queue = expectStep<QueueRuns>(nextStep(snapshot, wanted));
  ASSERT_EQ(queue.runs.size(), 1u);
  EXPECT_EQ(queue.runs[0].action.kind, index::ActionKind::kCheck);
  snapshot.runs = {run(check, RunState::kLeased)};
  expectStep<Wait>(nextStep(snapshot, wanted));
  snapshot.runs[0].state = RunState::kDone;
  snapshot.results.push_back(result(check, "w2"));
  EXPECT_EQ(expectStep<PublishCheck>(nextStep(snapshot, wanted)).result.worker, "w2");

  snapshot.targets[0].check = index::CheckOutcome::kPassed;
  EXPECT_EQ(expectStep<End>(nextStep(snapshot, wanted)).state, index::JobState::kSucceeded);
  snapshot.targets[0].check = index::CheckOutcome::kFailed;
  const auto end = expectStep<End>(nextStep(snapshot, wanted));
  EXPECT_EQ(end.state, index::JobState::kFailed);
  ASSERT_TRUE(end.error);
  EXPECT_EQ(end.error->exitCode, 10);
  EXPECT_NE(end.error->message.find(snapshot.targets[0].artifact->text()), std::string::npos);
}

TEST(NextStep, ACheckOnAnEmulatedDeviceWaitsForItsEmulation) {
  auto snapshot = plannedJob();
  auto wanted = delivery();
  wanted.check = CheckRequest{digestOf(std::string_view("{}")), {}, true};
  EXPECT_FALSE(checkedEmulated(wanted, "cpu:x86-64-v3"));
  EXPECT_TRUE(checkedEmulated(wanted, "cuda:sm_90a"));
  const index::ActionRecord emulate{
      index::ActionKind::kEmulate, "cpu:x86-64-v3", digestOf(std::string_view("emulate")), {}};
  snapshot.actions.push_back(emulate);
  snapshot.targets[0].artifact = digestOf(std::string_view("artifact"));
  snapshot.results = {result(referenceAction(), "w1"), result(compileAction(), "w1")};
  EXPECT_EQ(expectStep<QueueRuns>(nextStep(snapshot, wanted)).runs[0].action.kind,
            index::ActionKind::kEmulate);
  snapshot.runs = {run(emulate, RunState::kLeased)};
  expectStep<Wait>(nextStep(snapshot, wanted));
  snapshot.runs[0].state = RunState::kDone;
  snapshot.results.push_back(result(emulate, "w2"));
  const auto check = expectStep<PlanCheck>(nextStep(snapshot, wanted));
  ASSERT_TRUE(check.emulation);
  EXPECT_EQ(check.emulation->worker, "w2");
}

TEST(NextStep, TheIrIsKeptOnceItsArtifactIsPublished) {
  auto snapshot = plannedJob();
  auto wanted = delivery();
  wanted.keepIr = true;
  const index::ActionRecord ir{index::ActionKind::kIr, "cpu:x86-64-v3", digestOf(std::string_view("ir")), {}};
  snapshot.actions.push_back(ir);
  snapshot.results = {result(referenceAction(), "w1"), result(ir, "w2")};
  snapshot.runs = {run(compileAction(), RunState::kLeased)};
  expectStep<Wait>(nextStep(snapshot, wanted));
  snapshot.runs[0].state = RunState::kDone;
  snapshot.results.push_back(result(compileAction(), "w1"));
  expectStep<Publish>(nextStep(snapshot, wanted));
  snapshot.targets[0].artifact = digestOf(std::string_view("artifact"));
  const auto keep = expectStep<PublishIr>(nextStep(snapshot, wanted));
  EXPECT_EQ(keep.target, 0);
  EXPECT_EQ(keep.result.worker, "w2");
  snapshot.targets[0].ir = true;
  EXPECT_EQ(expectStep<End>(nextStep(snapshot, wanted)).state, index::JobState::kSucceeded);

  snapshot.targets[0].ir = false;
  snapshot.results[1].exitCode = 4;
  snapshot.results.push_back(snapshot.results[1]);
  snapshot.results.back().worker = "w3";
  const auto end = expectStep<End>(nextStep(snapshot, wanted));
  ASSERT_TRUE(end.error);
  EXPECT_NE(end.error->message.find("the compiler for the IR"), std::string::npos) << end.error->message;
}

TEST(NextStep, EachTargetIsPublishedFromItsOwnAction) {
  auto snapshot = plannedJob();
  snapshot.targets.push_back({"cpu:x86-64-v4", {}, false, {}});
  snapshot.actions.push_back(compileAction("cpu:x86-64-v4"));
  snapshot.targets[0].artifact = digestOf(std::string_view("a"));
  snapshot.results = {result(referenceAction(), "w1"), result(compileAction(), "w1"),
                      result(compileAction("cpu:x86-64-v4"), "w1", "other")};
  auto publish = expectStep<Publish>(nextStep(snapshot, delivery()));
  EXPECT_EQ(publish.target, 1);
  EXPECT_EQ(publish.action, compileAction("cpu:x86-64-v4").action);
}

TEST(NextStep, EachTargetIsCheckedOnItsOwn) {
  auto snapshot = plannedJob();
  snapshot.targets.push_back({"cpu:x86-64-v4", {}, false, {}});
  for (index::TargetRecord& target : snapshot.targets) target.artifact = digestOf(target.target);
  auto wanted = delivery();
  wanted.check = CheckRequest{digestOf("{}"), {}};
  snapshot.results = {result(referenceAction(), "w1"), result(compileAction(), "w1")};
  const index::ActionRecord first{index::ActionKind::kCheck, "cpu:x86-64-v3", digestOf("check v3"), {}},
      second{index::ActionKind::kCheck, "cpu:x86-64-v4", digestOf("check v4"), {}};
  snapshot.actions.push_back(first);
  snapshot.runs = {run(first, RunState::kLeased)};
  EXPECT_EQ(expectStep<PlanCheck>(nextStep(snapshot, wanted)).target, 1) << "the first has its action";
  snapshot.actions.push_back(second);
  snapshot.runs.push_back(run(second, RunState::kDone));
  snapshot.results.push_back(result(second, "w2"));
  EXPECT_EQ(expectStep<PublishCheck>(nextStep(snapshot, wanted)).target, 1);
  snapshot.targets[1].check = index::CheckOutcome::kPassed;
  expectStep<Wait>(nextStep(snapshot, wanted));
  snapshot.runs[0].state = RunState::kDone;
  snapshot.results.push_back(result(first, "w3"));
  EXPECT_EQ(expectStep<PublishCheck>(nextStep(snapshot, wanted)).target, 0);
}

TEST(NextStep, WithTuningACompileIsPlannedOnceItsKernelsAreKnown) {
  const index::ActionRecord plan{index::ActionKind::kPlan, "cpu:x86-64-v3", digestOf("plan"), {}};
  const index::ActionRecord tune{index::ActionKind::kTune, "cpu:x86-64-v3", digestOf("tune"), {}};
  auto snapshot = plannedJob();
  snapshot.actions = {referenceAction(), plan};
  snapshot.results = {result(referenceAction(), "w1")};
  DeliverySpec wanted = delivery(2);
  wanted.tuning = TuningRequest{.search = true};
  EXPECT_EQ(expectStep<QueueRuns>(nextStep(snapshot, wanted)).runs.size(), 2u) << "by every builder";
  snapshot.results.push_back(result(plan, "w1"));
  EXPECT_EQ(expectStep<QueueRuns>(nextStep(snapshot, wanted)).runs.size(), 1u);
  snapshot.results.push_back(result(plan, "w2", "another plan"));
  EXPECT_EQ(expectStep<End>(nextStep(snapshot, wanted)).error->exitCode, 9) << "a plan is reproducible";
  snapshot.results.back() = result(plan, "w2");
  EXPECT_EQ(expectStep<PlanTune>(nextStep(snapshot, wanted)).plan.action, plan.action);
  wanted.tuning->search = false;
  EXPECT_FALSE(expectStep<PlanCompile>(nextStep(snapshot, wanted)).tuned);
  wanted.tuning->search = true;
  snapshot.actions.push_back(tune);
  auto queue = expectStep<QueueRuns>(nextStep(snapshot, wanted));
  ASSERT_EQ(queue.runs.size(), 1u) << "measured once, whatever the number of builders";
  snapshot.runs = {run(tune, RunState::kLeased)};
  expectStep<Wait>(nextStep(snapshot, wanted));
  snapshot.runs = {run(tune, RunState::kDone)};
  snapshot.results.push_back(result(tune, "w2"));
  const auto compile = expectStep<PlanCompile>(nextStep(snapshot, wanted));
  EXPECT_EQ(compile.plan.action, plan.action);
  ASSERT_TRUE(compile.tuned);
  EXPECT_EQ(compile.tuned->worker, "w2");
  snapshot.actions.push_back(compileAction());
  EXPECT_EQ(expectStep<QueueRuns>(nextStep(snapshot, wanted)).runs.size(), 2u);
}

TEST(NextStep, WithTuningEachTargetsCompileIsPlannedOnce) {
  auto snapshot = plannedJob();
  snapshot.targets.push_back({"cpu:x86-64-v4", {}, false, {}});
  DeliverySpec wanted = delivery();
  wanted.tuning = TuningRequest{};
  snapshot.actions.clear();
  expectStep<PlanActions>(nextStep(snapshot, wanted));
  const index::ActionRecord first{index::ActionKind::kPlan, "cpu:x86-64-v3", digestOf("plan v3"), {}},
      second{index::ActionKind::kPlan, "cpu:x86-64-v4", digestOf("plan v4"), {}};
  snapshot.actions = {referenceAction(), first, second};
  snapshot.runs = {run(second, RunState::kLeased)};
  snapshot.results = {result(referenceAction(), "w1"), result(first, "w1")};
  EXPECT_EQ(expectStep<PlanCompile>(nextStep(snapshot, wanted)).target, 0);
  snapshot.actions.push_back(compileAction());
  snapshot.runs.push_back(run(compileAction(), RunState::kLeased));
  expectStep<Wait>(nextStep(snapshot, wanted));
  snapshot.results.push_back(result(second, "w2"));
  const auto compile = expectStep<PlanCompile>(nextStep(snapshot, wanted));
  EXPECT_EQ(compile.target, 1);
  EXPECT_EQ(compile.plan.worker, "w2");
  snapshot.actions.push_back(compileAction("cpu:x86-64-v4"));
  snapshot.runs.clear();
  for (const char* target : {"cpu:x86-64-v3", "cpu:x86-64-v4"})
    snapshot.results.push_back(result(compileAction(target), "w1"));
  EXPECT_EQ(expectStep<Publish>(nextStep(snapshot, wanted)).target, 0);
  for (index::TargetRecord& target : snapshot.targets) target.artifact = digestOf(target.target);
  EXPECT_EQ(expectStep<End>(nextStep(snapshot, wanted)).state, index::JobState::kSucceeded);
}

TEST(NextStep, WithoutTuningNoCompileWaitsForAPlan) {
  const index::ActionRecord plan{index::ActionKind::kPlan, "cpu:x86-64-v3", digestOf("plan"), {}};
  auto snapshot = plannedJob();
  snapshot.actions = {referenceAction(), plan};
  snapshot.results = {result(referenceAction(), "w1"), result(plan, "w1")};
  expectStep<Wait>(nextStep(snapshot, delivery()));
}

TEST(NextStep, KernelsOfDevicesAreNotMeasuredButKnownOnesAreTaken) {
  auto snapshot = plannedJob();
  snapshot.targets[0].target = "cuda:sm_90a";
  const index::ActionRecord plan{index::ActionKind::kPlan, "cuda:sm_90a", digestOf("plan"), {}};
  snapshot.actions = {referenceAction(), plan};
  snapshot.results = {result(referenceAction(), "w1"), result(plan, "w1")};
  DeliverySpec wanted = delivery();
  wanted.tuning = TuningRequest{.search = true};
  EXPECT_FALSE(expectStep<PlanCompile>(nextStep(snapshot, wanted)).tuned);
}

TEST(NextStep, ATunerThatFailsSaysSo) {
  const index::ActionRecord tune{index::ActionKind::kTune, "cpu:x86-64-v3", digestOf("tune"), {}};
  auto snapshot = plannedJob();
  snapshot.actions = {referenceAction(), tune};
  auto failed = run(tune, RunState::kFailed);
  failed.errorMessage = "no such luck";
  snapshot.runs = {failed};
  DeliverySpec wanted = delivery();
  wanted.tuning = TuningRequest{.search = true};
  const End end = expectStep<End>(nextStep(snapshot, wanted));
  EXPECT_NE(end.error->message.find("the tuner failed"), std::string::npos) << end.error->message;
}

TEST(Deadline, EndsAJobThatIsNotDone) {
  auto snapshot = plannedJob();
  const TimePoint deadline{std::chrono::hours(500'000)};
  EXPECT_FALSE(pastDeadline(snapshot, deadline)) << "it has none";
  snapshot.job.deadline = deadline;
  EXPECT_FALSE(pastDeadline(snapshot, deadline - Duration(1)));
  const auto end = pastDeadline(snapshot, deadline);
  ASSERT_TRUE(end && end->error);
  EXPECT_EQ(end->state, index::JobState::kFailed);
  EXPECT_EQ(end->error->exitCode, kExitUnavailable);
  EXPECT_EQ(end->error->code, static_cast<int>(Code::kDeadlineExceeded));
  EXPECT_NE(end->error->message.find(rfc3339(deadline)), std::string::npos) << end->error->message;
  snapshot.job.state = index::JobState::kSucceeded;
  EXPECT_FALSE(pastDeadline(snapshot, deadline)) << "it was in time";
}

}  // namespace
}  // namespace kiln::jobs
