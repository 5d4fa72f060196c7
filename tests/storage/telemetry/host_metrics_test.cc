#include "storage/telemetry/host_metrics.h"

#include <gmock/gmock.h>

#include <chrono>
#include <cmath>
#include <map>

namespace kiln::telemetry {
namespace {

// The values of metrics without labels, or with one, by name.
std::map<std::string, double> valuesOf(const Registry& registry) {
  std::map<std::string, double> out;
  for (const auto& family : registry.Collect())
    for (const auto& metric : family.metric)
      out[family.name] =
          family.type == prometheus::MetricType::Counter ? metric.counter.value : metric.gauge.value;
  return out;
}

TEST(HostMetricsTest, OfThisProcess) {
  Registry registry;
  addProcessMetrics(registry);
  auto values = valuesOf(registry);
  EXPECT_GT(values["process_resident_memory_bytes"], 1e5);
  EXPECT_GE(values["process_open_fds"], 3);
  EXPECT_GE(values["process_max_fds"], values["process_open_fds"]);
  EXPECT_GE(values["process_threads"], 1);
  const double now =
      static_cast<double>(std::chrono::system_clock::to_time_t(std::chrono::system_clock::now()));
  EXPECT_NEAR(values["process_start_time_seconds"], now, 600);
  const double before = values["process_cpu_seconds_total"];
  volatile double sum = 0;
  for (int i = 0; i < 50'000'000; ++i) sum = sum + i;
  EXPECT_GT(valuesOf(registry)["process_cpu_seconds_total"], before);
}

TEST(HostMetricsTest, OfADisk) {
  Registry registry;
  addDiskMetrics(registry, "here", ".");
  auto values = valuesOf(registry);
  EXPECT_GT(values["kiln_disk_size_bytes"], 0);
  EXPECT_LE(values["kiln_disk_free_bytes"], values["kiln_disk_size_bytes"]);
  Registry nowhere;
  addDiskMetrics(nowhere, "there", "/none/of/it");
  EXPECT_TRUE(std::isnan(valuesOf(nowhere)["kiln_disk_free_bytes"]));
}

TEST(HostMetricsTest, ACounterOnlyRises) {
  prometheus::Counter counter;
  raiseTo(counter, 3);
  raiseTo(counter, 2);
  EXPECT_EQ(counter.Value(), 3);
  raiseTo(counter, 5);
  EXPECT_EQ(counter.Value(), 5);
}

}  // namespace
}  // namespace kiln::telemetry
