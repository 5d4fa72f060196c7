#include "storage/telemetry/open_metrics.h"

#include <gtest/gtest.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>

#include <cmath>

#include "storage/telemetry/registry.h"

namespace kiln::telemetry {
namespace {

const TimePoint kAt{std::chrono::milliseconds(1'790'000'000'250)};

TEST(OpenMetrics, HasExemplarsAtTheBucketThatCountedThem) {
  Registry registry;
  auto& histogram = prometheus::BuildHistogram()
                        .Name("kiln_job_seconds")
                        .Help("From \"submission\" to end")
                        .Register(registry)
                        .Add({{"kind", "a\\b\n"}}, prometheus::Histogram::BucketBoundaries{.5, 1, 60});
  for (const double seconds : {.2, .7, 100.}) histogram.Observe(seconds);
  registry.exemplars().note("kiln_job_seconds", {{"kind", "a\\b\n"}}, {"4bf9", .6, kAt});
  registry.exemplars().note("kiln_job_seconds", {{"kind", "a\\b\n"}}, {"00aa", .7, kAt});
  registry.exemplars().note("kiln_job_seconds", {{"kind", "another"}}, {"ffff", .2, kAt});
  EXPECT_EQ(
      openMetricsText(registry.Collect(), registry.exemplars()),
      "# TYPE kiln_job_seconds histogram\n"
      "# HELP kiln_job_seconds From \\\"submission\\\" to end\n"
      "kiln_job_seconds_bucket{kind=\"a\\\\b\\n\",le=\"0.5\"} 1\n"
      "kiln_job_seconds_bucket{kind=\"a\\\\b\\n\",le=\"1.0\"} 2 # {trace_id=\"00aa\"} 0.7 1790000000.250\n"
      "kiln_job_seconds_bucket{kind=\"a\\\\b\\n\",le=\"60.0\"} 2\n"
      "kiln_job_seconds_bucket{kind=\"a\\\\b\\n\",le=\"+Inf\"} 3\n"
      "kiln_job_seconds_count{kind=\"a\\\\b\\n\"} 3\n"
      "kiln_job_seconds_sum{kind=\"a\\\\b\\n\"} 100.9\n"
      "# EOF\n");
}

TEST(OpenMetrics, NamesCountersWithoutTheirEnding) {
  Registry registry;
  prometheus::BuildCounter().Name("kiln_jobs_total").Help("Jobs").Register(registry).Add({}).Increment(2);
  prometheus::BuildGauge().Name("kiln_free").Help("Free").Register(registry).Add({}).Set(std::nan(""));
  EXPECT_EQ(openMetricsText(registry.Collect(), registry.exemplars()),
            "# TYPE kiln_jobs counter\n# HELP kiln_jobs Jobs\nkiln_jobs_total 2\n"
            "# TYPE kiln_free gauge\n# HELP kiln_free Free\nkiln_free NaN\n# EOF\n");
}

TEST(OpenMetrics, IsForWhoAsksForIt) {
  EXPECT_TRUE(acceptsOpenMetrics(
      "application/openmetrics-text;version=1.0.0,application/openmetrics-text;version=0.0.1;q=0.75,"
      "text/plain;version=0.0.4;q=0.5,*/*;q=0.1"));
  EXPECT_FALSE(acceptsOpenMetrics("text/plain"));
  EXPECT_FALSE(acceptsOpenMetrics(""));
}

TEST(Exemplars, AreBounded) {
  Exemplars exemplars;
  for (int i = 0; i < 1000; ++i) {
    exemplars.note("m", {}, {"t" + std::to_string(i), static_cast<double>(i), kAt});
    exemplars.note("m", {{"n", std::to_string(i)}}, {"t", 1, kAt});
  }
  EXPECT_FALSE(exemplars.find("m", {}, -1, 900)) << "only the last ones are kept";
  EXPECT_EQ(exemplars.find("m", {}, 900, 2000)->trace, "t999");
  EXPECT_FALSE(exemplars.find("m", {{"n", "999"}}, 0, 2)) << "and so many series";
  EXPECT_TRUE(exemplars.find("m", {{"n", "7"}}, 0, 2));
}

}  // namespace
}  // namespace kiln::telemetry
