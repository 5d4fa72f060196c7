#include "signing/sequencer/log_metrics.h"

#include <gtest/gtest.h>

#include "tests/support/manual_clock.h"
#include "tests/support/metrics.h"

namespace kiln::signing {
namespace {

using testing_support::metric;

class LogMetricsTest : public testing::Test {
 protected:
  double of(const std::string& name, const std::map<std::string, std::string>& labels = {}) {
    return metric(registry_, name, labels);
  }

  prometheus::Registry registry_;
  testing_support::ManualClock clock_, steady_;
  LogMetrics metrics_{registry_, clock_, steady_};
};

TEST_F(LogMetricsTest, CountsWhatIsAppended) {
  metrics_.opened(3, TimePoint(std::chrono::seconds(1000)));
  EXPECT_EQ(of("kiln_log_tree_size"), 3);
  EXPECT_EQ(of("kiln_log_last_checkpoint_timestamp_seconds"), 1000);
  metrics_.looks();
  const TimePoint now = clock_.now();
  // The signer's clock may be ahead.
  metrics_.appended({.size = 5, .signedAt = {now - std::chrono::seconds(2), now + std::chrono::seconds(1)}});
  EXPECT_EQ(of("kiln_log_tree_size"), 5);
  EXPECT_EQ(of("kiln_log_entries_total"), 2);
  EXPECT_EQ(of("kiln_log_checkpoints_total"), 1);
  EXPECT_EQ(of("kiln_log_intake_seconds"), 2);
  EXPECT_EQ(of("kiln_log_append_seconds"), 1);
  EXPECT_DOUBLE_EQ(of("kiln_log_last_checkpoint_timestamp_seconds"),
                   std::chrono::duration<double>(now.time_since_epoch()).count());
}

TEST_F(LogMetricsTest, CountsWhatWitnessesAnswer) {
  metrics_.answered("w1", {});
  metrics_.answered("w1", {});
  metrics_.answered("w1", fail(Code::kUnavailable, "away"));
  metrics_.answered("w2", fail(Code::kDataLoss, "another history"));
  EXPECT_EQ(of("kiln_log_witness_answers_total", {{"witness", "w1"}, {"outcome", "cosigned"}}), 2);
  EXPECT_EQ(of("kiln_log_witness_answers_total", {{"witness", "w1"}, {"outcome", "unavailable"}}), 1);
  EXPECT_EQ(of("kiln_log_witness_answers_total", {{"witness", "w2"}, {"outcome", "contradicted"}}), 1);
}

TEST_F(LogMetricsTest, HealthSaysWhatItWaitsFor) {
  EXPECT_EQ(metrics_.health().error().code, Code::kUnavailable);
  EXPECT_EQ(of("kiln_log_sequencing"), 0);
  metrics_.opened(0, {});
  EXPECT_TRUE(metrics_.health());
  EXPECT_EQ(of("kiln_log_sequencing"), 1);
  metrics_.waits("the database is away");
  EXPECT_EQ(metrics_.health().error().message, "nothing is sequenced: the database is away");
  EXPECT_EQ(of("kiln_log_sequencing"), 0);
}

}  // namespace
}  // namespace kiln::signing
