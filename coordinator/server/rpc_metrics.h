// Counts the calls of a gRPC server, for Prometheus.
#pragma once

#include <prometheus/counter.h>
#include <prometheus/histogram.h>

#include <string>
#include <string_view>

#include "coordinator/server/call_watch.h"
#include "storage/telemetry/registry.h"

namespace kiln::server {

// "OK", or a name of gRPC's such as NOT_FOUND.
std::string rpcCodeName(int code);

// Thread safe. `rpc` is "kiln.v1.JobService/SubmitJob", one of those that are served, or "unknown"; the calls
// for gRPC's own health are not counted. Metrics:
//   kiln_rpc_requests_total{rpc,code}  `code`: rpcCodeName()
//   kiln_rpc_seconds{rpc}              until the answer's status; of a stream and of Synchronize with the
//   time in
//                                      which there was nothing to say
//   kiln_rpc_in_progress               calls now
//   kiln_rpc_waiting_for_peer          of these, calls that wait for their clients
class RpcMetrics {
 public:
  explicit RpcMetrics(prometheus::Registry& registry);

  void ended(std::string_view rpc, int code, Duration took);

 private:
  prometheus::Family<prometheus::Counter>& requests_;
  prometheus::Family<prometheus::Histogram>& seconds_;
};

// The two gauges. The watch must be there as long as anybody collects.
void addCallMetrics(telemetry::Registry& registry, CallWatch& calls);

}  // namespace kiln::server
