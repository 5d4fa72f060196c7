#include "worker/agent/worker_metrics.h"

#include <gtest/gtest.h>

#include "tests/support/manual_clock.h"
#include "tests/support/metrics.h"

namespace kiln::agent {
namespace {

using std::chrono::seconds;
using testing_support::metric;

// Ends as it is told, after two seconds by the clock.
class PlayedRunner final : public Runner {
 public:
  explicit PlayedRunner(testing_support::ManualClock& clock) : clock_(clock) {}
  Result<Outcome> run(const v1::Lease&, int, const sandbox::Cancel&,
                      const std::function<void(const std::string&)>&) override {
    clock_.advance(seconds(2));
    during();
    return result;
  }
  std::vector<std::string> warmToolchains() const override { return {"aa"}; }
  std::vector<v1::Device> devices() const override { return std::vector<v1::Device>(2); }
  std::string missingGpus() const override { return "none"; }

  Result<Outcome> result = Outcome();
  std::function<void()> during = [] {};

 private:
  testing_support::ManualClock& clock_;
};

class WorkerMetricsTest : public testing::Test {
 protected:
  double of(const std::string& name, const std::map<std::string, std::string>& labels = {}) {
    return metric(registry_, name, labels);
  }
  double actions(const std::string& kind, const std::string& outcome) {
    return of("kiln_worker_actions_total", {{"kind", kind}, {"outcome", outcome}});
  }
  void run(v1::ActionKind kind, Result<Outcome> result) {
    v1::Lease lease;
    lease.set_kind(kind);
    inner_.result = std::move(result);
    EXPECT_EQ(runner_.run(lease, 0, cancel_, [](const std::string&) {}).has_value(),
              inner_.result.has_value());
  }

  telemetry::Registry registry_;
  testing_support::ManualClock clock_, steady_;
  WorkerMetrics metrics_{registry_, 3, clock_, steady_};
  PlayedRunner inner_{steady_};
  MeteredRunner runner_{inner_, metrics_, steady_};
  sandbox::Cancel cancel_;
};

TEST_F(WorkerMetricsTest, CountsActionsByKindAndOutcome) {
  Outcome failed;
  failed.result.set_exit_code(3);
  run(v1::ACTION_COMPILE, Outcome());
  run(v1::ACTION_COMPILE, failed);
  run(v1::ACTION_CHECK, fail(Code::kCancelled, "withdrawn"));
  run(v1::ACTION_TUNE, fail(Code::kDeadlineExceeded, "slow"));
  run(v1::ACTION_FETCH, fail(Code::kUnavailable, "away"));
  EXPECT_EQ(actions("compile", "done"), 1);
  EXPECT_EQ(actions("compile", "tool_failed"), 1);
  EXPECT_EQ(actions("check", "cancelled"), 1);
  EXPECT_EQ(actions("tune", "timed_out"), 1);
  EXPECT_EQ(actions("fetch", "error"), 1);
  EXPECT_EQ(of("kiln_worker_action_seconds", {{"kind", "compile"}}), 2);
  metrics_.sandboxEnded(v1::ACTION_PLAN, seconds(1));
  EXPECT_EQ(of("kiln_worker_sandbox_seconds", {{"kind", "plan"}}), 1);
}

TEST_F(WorkerMetricsTest, CountsWhatRunsNow) {
  EXPECT_EQ(of("kiln_worker_slots"), 3);
  inner_.during = [&] { EXPECT_EQ(of("kiln_worker_leases_running"), 1); };
  run(v1::ACTION_REFERENCE, Outcome());
  EXPECT_EQ(of("kiln_worker_leases_running"), 0);
}

TEST_F(WorkerMetricsTest, AnActionsTimeIsSummedUp) {
  run(v1::ACTION_EMULATE, Outcome());
  for (const auto& family : registry_.Collect())
    if (family.name == "kiln_worker_action_seconds") {
      EXPECT_EQ(family.metric.at(0).histogram.sample_sum, 2);
    }
}

TEST_F(WorkerMetricsTest, HealthIsWhetherTheCoordinatorAnswers) {
  EXPECT_EQ(metrics_.health().error().message, "the coordinator has not answered yet");
  metrics_.called(true);
  EXPECT_TRUE(metrics_.health());
  EXPECT_EQ(of("kiln_worker_last_contact_timestamp_seconds"),
            std::chrono::duration<double>(clock_.now().time_since_epoch()).count());
  steady_.advance(seconds(120));
  metrics_.called(false);
  EXPECT_TRUE(metrics_.health());
  steady_.advance(seconds(1));
  EXPECT_EQ(metrics_.health().error().message, "the coordinator has not answered for 121 s");
  metrics_.called(true);
  EXPECT_TRUE(metrics_.health());
  EXPECT_EQ(of("kiln_worker_calls_total", {{"outcome", "answered"}}), 2);
  EXPECT_EQ(of("kiln_worker_calls_total", {{"outcome", "failed"}}), 1);
}

TEST_F(WorkerMetricsTest, ARunnerIsOtherwiseTheOneInside) {
  EXPECT_EQ(runner_.warmToolchains(), std::vector<std::string>{"aa"});
  EXPECT_EQ(runner_.devices().size(), 2u);
  EXPECT_EQ(runner_.missingGpus(), "none");
}

}  // namespace
}  // namespace kiln::agent
