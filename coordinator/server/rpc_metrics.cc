#include "coordinator/server/rpc_metrics.h"

#include <prometheus/gauge.h>

namespace kiln::server {
namespace {

constexpr int kMostCode = static_cast<int>(Code::kUnauthenticated);

}  // namespace

std::string rpcCodeName(int code) {
  if (code == 0) return "OK";
  return std::string(codeName(code > 0 && code <= kMostCode ? static_cast<Code>(code) : Code::kUnknown));
}

RpcMetrics::RpcMetrics(prometheus::Registry& registry)
    : requests_(prometheus::BuildCounter()
                    .Name("kiln_rpc_requests_total")
                    .Help("Calls that were answered, by RPC and code")
                    .Register(registry)),
      seconds_(prometheus::BuildHistogram()
                   .Name("kiln_rpc_seconds")
                   .Help("From the beginning of a call to the status of its answer")
                   .Register(registry)) {}

void RpcMetrics::ended(std::string_view rpc, int code, Duration took) {
  if (rpc.starts_with('/')) rpc.remove_prefix(1);
  const std::string name(rpc);
  requests_.Add({{"rpc", name}, {"code", rpcCodeName(code)}}).Increment();
  seconds_
      .Add({{"rpc", name}}, prometheus::Histogram::BucketBoundaries{.001, .0025, .005, .01, .025, .05, .1,
                                                                    .25, .5, 1, 5, 30, 300})
      .Observe(std::chrono::duration<double>(took).count());
}

void addCallMetrics(telemetry::Registry& registry, CallWatch& calls) {
  const auto gauge = [&registry](const char* name, const char* help) -> prometheus::Gauge& {
    return prometheus::BuildGauge().Name(name).Help(help).Register(registry).Add({});
  };
  auto& open = gauge("kiln_rpc_in_progress", "Calls in progress");
  auto& waiting = gauge("kiln_rpc_waiting_for_peer", "Calls that wait for their clients");
  registry.beforeCollect([&open, &waiting, &calls] {
    open.Set(static_cast<double>(calls.inProgress()));
    waiting.Set(static_cast<double>(calls.waiting()));
  });
}

}  // namespace kiln::server
