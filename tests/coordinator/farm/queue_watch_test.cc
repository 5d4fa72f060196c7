#include "coordinator/farm/queue_watch.h"

#include "tests/coordinator/farm/farm_fixture.h"
#include "tests/support/metrics.h"

namespace kiln::service::testing {
namespace {

using std::chrono::seconds;
using testing_support::metric;

class QueueWatchTest : public FarmTest {
 protected:
  double of(const std::string& name, const std::map<std::string, std::string>& labels) {
    return metric(*registry_, name, labels);
  }
  double runs(const std::string& kind, const std::string& state) {
    return of("kiln_runs", {{"kind", kind}, {"state", state}});
  }
  double ofInstance(const std::string& instance, const std::string& state) {
    return of("kiln_instance_runs", {{"kiln_instance", instance}, {"state", state}});
  }

  quota::Quotas quotas_;
  testing_support::ManualClock steady_;
};

TEST_F(QueueWatchTest, ShowsWhatWaitsAndWhatRuns) {
  ASSERT_TRUE(addToolchain(putToolchain(), "", nullptr, {}, true).ok());
  QueueWatch watch(pool_, quotas_, *registry_, clock_, steady_);
  ASSERT_TRUE(watch.look());
  EXPECT_EQ(runs("compile", "queued"), 0);
  EXPECT_EQ(ofInstance("other", "queued"), 0);

  auto one = worker("w1");
  const v1::Job job = submitted(request("k1"));
  clock_.advance(seconds(7));
  ASSERT_TRUE(watch.look());
  const double queued = runs("compile", "queued") + runs("reference", "queued");
  EXPECT_GT(queued, 0);
  EXPECT_EQ(ofInstance("other", "queued"), queued);
  EXPECT_EQ(of("kiln_runs_oldest_seconds", {{"kind", "compile"}}), 7);

  const auto leases = one->poll();
  ASSERT_FALSE(leases.empty());
  ASSERT_TRUE(watch.look());
  EXPECT_EQ(ofInstance("other", "leased"), static_cast<double>(leases.size()));
  double waited = 0;
  for (const char* kind : {"compile", "reference"})
    waited += std::max(0.0, of("kiln_run_wait_seconds", {{"kind", kind}}));
  EXPECT_EQ(waited, static_cast<double>(leases.size()));
}

TEST_F(QueueWatchTest, NamesTheInstancesOfTheQuotaFileAlone) {
  ASSERT_TRUE(addToolchain(putToolchain(), "", nullptr, {}, true).ok());
  QueueWatch watch(pool_, quotas_, *registry_, clock_, steady_);
  auto one = worker("w1");
  submitted(request("k1"));
  quotas_.replace(quota::QuotaRules::parse(
                      R"({"apiVersion":"kiln/v1","kind":"Quotas","instances":{"default":{"weight":2}}})")
                      .value());
  ASSERT_TRUE(watch.look());
  EXPECT_GT(ofInstance("default", "queued"), 0);
  EXPECT_EQ(ofInstance("other", "queued"), 0);
  quotas_.replace({});
  ASSERT_TRUE(watch.look());
  EXPECT_EQ(ofInstance("default", "queued"), -1) << "it is named no more";
  EXPECT_GT(ofInstance("other", "queued"), 0);
}

TEST_F(QueueWatchTest, SoManyInstancesHaveALabelWhateverTheFileNames) {
  ASSERT_TRUE(addToolchain(putToolchain(), "", nullptr, {}, true).ok());
  QueueWatch watch(pool_, quotas_, *registry_, clock_, steady_);
  auto one = worker("w1");
  submitted(request("k1"));
  clock_.advance(seconds(9));
  Json named = Json::object();
  for (int i = 0; i < 150; ++i) named["a" + std::to_string(1000 + i)] = {{"weight", 2}};
  named["default"] = {{"weight", 2}};  // behind them all by its name
  const Json file{{"apiVersion", "kiln/v1"}, {"kind", "Quotas"}, {"instances", named}};
  quotas_.replace(quota::QuotaRules::parse(file.dump()).value());
  ASSERT_TRUE(watch.look());
  EXPECT_EQ(ofInstance("a1000", "queued"), 0);
  EXPECT_EQ(ofInstance("a1099", "queued"), 0);
  EXPECT_EQ(ofInstance("a1100", "queued"), -1);
  EXPECT_GT(ofInstance("other", "queued"), 0);
  EXPECT_EQ(of("kiln_instance_runs_oldest_seconds", {{"kiln_instance", "other"}}), 9);
  quotas_.replace({});
  ASSERT_TRUE(watch.look());
  EXPECT_EQ(of("kiln_instance_runs_oldest_seconds", {{"kiln_instance", "a1000"}}), -1);
}

TEST_F(QueueWatchTest, LooksByItself) {
  QueueWatch watch(pool_, quotas_, *registry_, clock_, steady_);
  watch.start();
  for (int i = 0; i < 2000 && runs("compile", "queued") < 0; ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  EXPECT_EQ(runs("compile", "queued"), 0);
  watch.stop();
}

}  // namespace
}  // namespace kiln::service::testing
