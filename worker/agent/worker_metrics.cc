#include "worker/agent/worker_metrics.h"

#include <fmt/format.h>

#include "manifest/spec/action_kind.h"

namespace kiln::agent {
namespace {

constexpr std::chrono::minutes kSilence{2};  // longer than a call that waits may take

prometheus::Gauge& gauge(prometheus::Registry& registry, const char* name, const char* help) {
  return prometheus::BuildGauge().Name(name).Help(help).Register(registry).Add({});
}

prometheus::Family<prometheus::Counter>& counters(prometheus::Registry& registry, const char* name,
                                                  const char* help) {
  return prometheus::BuildCounter().Name(name).Help(help).Register(registry);
}

prometheus::Family<prometheus::Histogram>& histograms(prometheus::Registry& registry, const char* name,
                                                      const char* help) {
  return prometheus::BuildHistogram().Name(name).Help(help).Register(registry);
}

std::string nameOf(v1::ActionKind kind) {
  return std::string(actionKindName(static_cast<ActionKind>(kind)));
}

const char* outcomeOf(const Result<Outcome>& result) {
  if (result) return result->result.exit_code() == 0 ? "done" : "tool_failed";
  switch (result.error().code) {
    case Code::kCancelled:
      return "cancelled";
    case Code::kDeadlineExceeded:
      return "timed_out";
    default:
      return "error";
  }
}

void observe(prometheus::Family<prometheus::Histogram>& family, v1::ActionKind kind, Duration took) {
  family
      .Add({{"kind", nameOf(kind)}},
           prometheus::Histogram::BucketBoundaries{.01, .05, .1, .25, .5, 1, 2.5, 5, 15, 60, 300, 1200, 3600})
      .Observe(std::chrono::duration<double>(took).count());
}

}  // namespace

WorkerMetrics::WorkerMetrics(telemetry::Registry& registry, int slots, const Clock& clock,
                             const Clock& steady)
    : registry_(registry),
      clock_(clock),
      steady_(steady),
      running_(gauge(registry, "kiln_worker_leases_running", "Actions that run here")),
      actions_(counters(registry, "kiln_worker_actions_total", "Actions that ended, by kind and outcome")),
      actionSeconds_(histograms(registry, "kiln_worker_action_seconds",
                                "What an action took, with its inputs and outputs")),
      sandboxSeconds_(
          histograms(registry, "kiln_worker_sandbox_seconds", "What an action took in its sandbox")),
      calls_(counters(registry, "kiln_worker_calls_total", "Calls of the coordinator, by outcome")),
      contact_(gauge(registry, "kiln_worker_last_contact_timestamp_seconds",
                     "When the coordinator last answered, since the epoch")) {
  gauge(registry, "kiln_worker_slots", "Actions that may run here at a time").Set(slots);
}

void WorkerMetrics::ended(v1::ActionKind kind, const Result<Outcome>& result, Duration took) {
  running_.Decrement();
  actions_.Add({{"kind", nameOf(kind)}, {"outcome", outcomeOf(result)}}).Increment();
  observe(actionSeconds_, kind, took);
}

void WorkerMetrics::sandboxEnded(v1::ActionKind kind, Duration took) {
  observe(sandboxSeconds_, kind, took);
}

void WorkerMetrics::called(bool answered) {
  calls_.Add({{"outcome", answered ? "answered" : "failed"}}).Increment();
  if (!answered) return;
  contact_.Set(std::chrono::duration<double>(clock_.now().time_since_epoch()).count());
  const MutexLock lock(mutex_);
  answered_ = steady_.now();
}

void WorkerMetrics::addCache(const std::string& name, const executor::Executor& executor) {
  auto& family = counters(registry_, "kiln_worker_toolchain_cache_total",
                          "Toolchains that were there, and that were fetched");
  auto& hits = family.Add({{"cache", name}, {"result", "hit"}});
  auto& misses = family.Add({{"cache", name}, {"result", "miss"}});
  registry_.beforeCollect([&hits, &misses, &executor] {
    const executor::TreeCache::Uses uses = executor.toolchainUses();
    telemetry::raiseTo(hits, static_cast<double>(uses.hits));
    telemetry::raiseTo(misses, static_cast<double>(uses.misses));
  });
}

Status WorkerMetrics::health() {
  const MutexLock lock(mutex_);
  if (!answered_) return fail(Code::kUnavailable, "the coordinator has not answered yet");
  const auto silence = steady_.now() - *answered_;
  if (silence <= kSilence) return {};
  return fail(Code::kUnavailable,
              fmt::format("the coordinator has not answered for {} s",
                          std::chrono::duration_cast<std::chrono::seconds>(silence).count()));
}

Result<Outcome> MeteredRunner::run(const v1::Lease& lease, int slot, const sandbox::Cancel& cancel,
                                   const std::function<void(const std::string&)>& onStage) {
  const TimePoint before = steady_.now();
  metrics_.began();
  auto result = inner_.run(lease, slot, cancel, onStage);
  metrics_.ended(lease.kind(), result, steady_.now() - before);
  return result;
}

}  // namespace kiln::agent
