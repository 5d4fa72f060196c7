#include "coordinator/scheduler/requirements.h"

#include <gtest/gtest.h>

namespace kiln::scheduler {
namespace {

using index::ActionKind;
using std::chrono::hours;
using std::chrono::seconds;

const TimePoint kNow{hours(1000)};

index::WorkerRecord worker(const std::string& name, const std::string& operatorName,
                           std::vector<std::string> targets) {
  index::WorkerRecord out;
  out.name = name;
  out.operatorName = operatorName;
  out.targets = std::move(targets);
  out.kinds = {ActionKind::kReference, ActionKind::kCompile};
  out.lastContact = kNow;
  return out;
}

FleetView fleet() {
  FleetView out;
  out.workers = {worker("a", "op1", {"cpu:x86-64-v3"}),
                 worker("b", "op1", {"cpu:x86-64-v3", "cpu:x86-64-v4"})};
  out.now = kNow;
  out.graceUntil = kNow - seconds(1);
  return out;
}

Status check(const FleetView& view, std::vector<std::string> targets, int builders = 1, int operators = 1,
             bool fetches = false) {
  DeliverySpec delivery;
  delivery.builders = builders;
  delivery.operators = operators;
  return checkSatisfiable(requirementsOf(targets, delivery, fetches), view);
}

TEST(Requirements, ServedTargetsPass) {
  EXPECT_TRUE(check(fleet(), {"cpu:x86-64-v3", "cpu:x86-64-v4"}));
  EXPECT_TRUE(check(fleet(), {"cpu:x86-64-v3"}, 2));
}

TEST(Requirements, AWorkerThatTakesNothingServesNothing) {
  FleetView view = fleet();
  view.workers[1].slots = 0;
  EXPECT_FALSE(check(view, {"cpu:x86-64-v4"}));
  EXPECT_TRUE(check(view, {"cpu:x86-64-v3"}));
}

TEST(Requirements, SeveralTargetsInOneArtifactWantAWorkerOfAll) {
  const auto both = check(fleet(), {"cpu:x86-64-v4,cpu:x86-64-v3"});
  EXPECT_TRUE(both) << both.error().message;
  EXPECT_FALSE(check(fleet(), {"cpu:x86-64-v4,cpu:aarch64-neoverse-n1"}));
}

TEST(Requirements, AnUnservedTargetIsRefusedNamingWhatIsServed) {
  auto status = check(fleet(), {"cpu:aarch64-neoverse-n1"});
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, Code::kUnimplemented);
  EXPECT_NE(status.error().message.find("no worker does compile for cpu:aarch64-neoverse-n1"),
            std::string::npos);
  EXPECT_NE(status.error().message.find("cpu:x86-64-v3, cpu:x86-64-v4"), std::string::npos);
  EXPECT_NE(status.error().details.find("\"target\":\"cpu:aarch64-neoverse-n1\""), std::string::npos);
}

TEST(Requirements, TooFewBuildersOrOperatorsAreRefused) {
  EXPECT_EQ(check(fleet(), {"cpu:x86-64-v4"}, 2).error().code, Code::kUnimplemented);
  EXPECT_NE(check(fleet(), {"cpu:x86-64-v3"}, 2, 2).error().message.find("operators"), std::string::npos);
}

TEST(Requirements, AFetchNeedsAFetcher) {
  auto view = fleet();
  const auto refused = check(view, {"cpu:x86-64-v3"}, 1, 1, true);
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("no worker fetches git repositories"), std::string::npos);
  EXPECT_NE(refused.error().message.find("kiln-worker --fetch-hosts"), std::string::npos) << "what to start";
  EXPECT_EQ(refused.error().message.find("another target"), std::string::npos) << "which would not help";
  view.workers[0].kinds.push_back(ActionKind::kFetch);
  EXPECT_TRUE(check(view, {"cpu:x86-64-v3"}, 1, 1, true));
}

TEST(Requirements, ALongSilentWorkerDoesNotCount) {
  auto view = fleet();
  view.workers[1].lastContact = kNow - hours(2);
  EXPECT_FALSE(check(view, {"cpu:x86-64-v4"}));
  view.workers[1].lastContact = kNow - seconds(300);
  EXPECT_TRUE(check(view, {"cpu:x86-64-v4"})) << "a worker that restarts is waited for";
}

TEST(Requirements, ACheckNeedsAHealthyDeviceOfTheRightKind) {
  auto view = fleet();
  for (index::WorkerRecord& one : view.workers) {
    one.targets.push_back("cuda:sm_90a");
    one.kinds.push_back(ActionKind::kCheck);
    one.kinds.push_back(ActionKind::kEmulate);
    one.runs = {"cpu:x86-64-v3"};
  }
  const auto wanted = [&](const char* target, bool emulated) {
    DeliverySpec delivery;
    delivery.check = CheckRequest{{}, {}, emulated};
    return checkSatisfiable(requirementsOf({target}, delivery, false), view);
  };
  EXPECT_TRUE(wanted("cpu:x86-64-v3", false));
  EXPECT_TRUE(wanted("cpu:x86-64-v3", true)) << "a processor is nothing to emulate";
  const Status none = wanted("cuda:sm_90a", false);
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code, Code::kUnimplemented);
  EXPECT_NE(none.error().message.find("no worker has a healthy device for the check for cuda:sm_90a"),
            std::string::npos)
      << none.error().message;
  EXPECT_NE(none.error().message.find("devices execute cpu:x86-64-v3, emulated ones none"), std::string::npos)
      << none.error().message;
  view.workers[0].emulates = {"cuda:sm_90a"};
  EXPECT_FALSE(wanted("cuda:sm_90a", false)) << "an emulated device is no device";
  EXPECT_TRUE(wanted("cuda:sm_90a", true));
  EXPECT_TRUE(wanted("cuda:sm_90a,cpu:x86-64-v3", true));
  EXPECT_FALSE(wanted("cuda:sm_90a,cpu:x86-64-v4", true));
  view.workers[1].runs.push_back("cuda:sm_90a");
  EXPECT_TRUE(wanted("cuda:sm_90a", false));
}

TEST(Requirements, ACheckThatOnlyADrainedDeviceCouldMakeIsUnavailableForNow) {
  auto view = fleet();
  for (index::WorkerRecord& one : view.workers) {
    one.targets.push_back("cuda:sm_90a");
    one.kinds.push_back(ActionKind::kCheck);
    one.runs = {"cpu:x86-64-v3"};
  }
  view.drained = {{"b", "op1", "gpu0", "it fell off the bus", {"cuda:sm_90a"}, false}};
  const auto wanted = [&](const char* target) {
    DeliverySpec delivery;
    delivery.check = CheckRequest{{}, {}, false};
    return checkSatisfiable(requirementsOf({target}, delivery, false), view);
  };
  const Status waits = wanted("cuda:sm_90a,cpu:x86-64-v3");
  ASSERT_FALSE(waits);
  EXPECT_EQ(waits.error().code, Code::kUnavailable);
  EXPECT_NE(waits.error().message.find(
                "device gpu0 of worker b is drained (it fell off the bus). Its worker tries"),
            std::string::npos)
      << waits.error().message;
  EXPECT_EQ(wanted("cuda:sm_80").error().code, Code::kUnimplemented) << "no device for that at all";
  EXPECT_EQ(wanted("cuda:sm_90a,cpu:x86-64-v4").error().code, Code::kUnimplemented)
      << "that worker lacks more than its GPU";
  view.drained[0].emulated = true;
  EXPECT_EQ(wanted("cuda:sm_90a").error().code, Code::kUnimplemented) << "an emulated device is no device";
  view.drained[0].emulated = false;
  view.drained[0].operatorName = "op2";
  EXPECT_EQ(wanted("cuda:sm_90a").error().code, Code::kUnimplemented) << "that is another operator's b";
  view.drained[0].operatorName = "op1";
  view.workers[1].lastContact = kNow - hours(2);
  EXPECT_EQ(wanted("cuda:sm_90a").error().code, Code::kUnimplemented) << "that worker is gone";
}

TEST(Requirements, TuningPlansAnywhereAndSearchesOnADevice) {
  auto view = fleet();
  const auto wanted = [&](bool search) {
    DeliverySpec delivery;
    delivery.tuning = TuningRequest{.search = search};
    return checkSatisfiable(requirementsOf({"cpu:x86-64-v4"}, delivery, false), view);
  };
  EXPECT_NE(wanted(false).error().message.find("no worker does plan for cpu:x86-64-v4"), std::string::npos);
  for (index::WorkerRecord& one : view.workers)
    one.kinds.insert(one.kinds.end(), {ActionKind::kPlan, ActionKind::kTune});
  EXPECT_TRUE(wanted(false));
  EXPECT_FALSE(wanted(true)) << "no device executes it";
  view.workers[0].runs = {"cpu:x86-64-v4"};
  EXPECT_TRUE(wanted(true)) << "it need not be a worker that compiles for it";
}

TEST(Requirements, AsManyBuildersPlanAsCompile) {
  DeliverySpec delivery;
  delivery.tuning = TuningRequest{};
  delivery.builders = 3;
  delivery.operators = 2;
  const auto required = requirementsOf({"cpu:x86-64-v4"}, delivery, false);
  const auto plan = std::ranges::find(required, ActionKind::kPlan, &Requirement::kind);
  ASSERT_NE(plan, required.end());
  EXPECT_EQ(plan->workers, 3);
  EXPECT_EQ(plan->operators, 2);
}

TEST(Requirements, KernelsOfDevicesAreNotMeasured) {
  DeliverySpec delivery;
  delivery.tuning = TuningRequest{.search = true};
  const auto required = requirementsOf({"cuda:sm_90a"}, delivery, false);
  EXPECT_TRUE(
      std::ranges::none_of(required, [](const Requirement& one) { return one.kind == ActionKind::kTune; }));
}

TEST(Requirements, JustAfterAStartItIsUnavailable) {
  auto view = fleet();
  view.graceUntil = kNow + seconds(5);
  EXPECT_EQ(check(view, {"cpu:aarch64-neoverse-n1"}).error().code, Code::kUnavailable);
}

}  // namespace
}  // namespace kiln::scheduler
