#include "coordinator/server/rpc_metrics.h"

#include <gtest/gtest.h>

#include "tests/support/manual_clock.h"
#include "tests/support/metrics.h"

namespace kiln::server {
namespace {

using testing_support::metric;

TEST(RpcMetrics, CountByRpcAndCode) {
  telemetry::Registry registry;
  RpcMetrics metrics(registry);
  metrics.ended("/kiln.v1.JobService/GetJob", 0, std::chrono::milliseconds(3));
  metrics.ended("/kiln.v1.JobService/GetJob", 5, std::chrono::milliseconds(3));
  metrics.ended("/kiln.v1.JobService/GetJob", 99, std::chrono::milliseconds(3));
  const std::string rpc = "kiln.v1.JobService/GetJob";
  for (const char* code : {"OK", "NOT_FOUND", "UNKNOWN"})
    EXPECT_EQ(metric(registry, "kiln_rpc_requests_total", {{"rpc", rpc}, {"code", code}}), 1) << code;
  EXPECT_EQ(metric(registry, "kiln_rpc_seconds", {{"rpc", rpc}}), 3);
}

TEST(RpcMetrics, OfCallsInProgress) {
  telemetry::Registry registry;
  const testing_support::ManualClock clock;
  CallWatch calls(clock);
  addCallMetrics(registry, calls);
  EXPECT_EQ(metric(registry, "kiln_rpc_in_progress"), 0);
  EXPECT_EQ(metric(registry, "kiln_rpc_waiting_for_peer"), 0);
}

}  // namespace
}  // namespace kiln::server
