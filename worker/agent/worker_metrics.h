// What a worker does, for Prometheus and for whoever asks for its health.
#pragma once

#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>

#include <optional>
#include <utility>
#include <vector>

#include "manifest/base/clock.h"
#include "manifest/base/mutex.h"
#include "storage/telemetry/registry.h"
#include "worker/agent/runner.h"
#include "worker/executor/executor.h"

namespace kiln::agent {

// Thread safe. Metrics; `kind` is fetch, reference, compile, check, emulate, plan, tune, execute or other:
//   kiln_worker_slots, kiln_worker_leases_running
//   kiln_worker_actions_total{kind,outcome}     `outcome`: done, tool_failed, cancelled, timed_out, error
//   kiln_worker_action_seconds{kind}            with inputs and outputs
//   kiln_worker_sandbox_seconds{kind}           of the sandbox alone
//   kiln_worker_calls_total{outcome}            of the coordinator: answered, failed
//   kiln_worker_last_contact_timestamp_seconds  since the epoch; 0 before the first
//   kiln_worker_toolchain_cache_total{cache,result}  `result`: hit, miss
class WorkerMetrics {
 public:
  // All must outlive it. `clock` tells the time of day, `steady` lengths of time.
  WorkerMetrics(telemetry::Registry& registry, int slots, const Clock& clock, const Clock& steady);

  void began() { running_.Increment(); }
  void ended(v1::ActionKind kind, const Result<Outcome>& result, Duration took);
  void sandboxEnded(v1::ActionKind kind, Duration took);
  // A call of the coordinator has ended.
  void called(bool answered);
  // Has the toolchain cache of `executor` counted as `name`. The executor must be there as long as anybody
  // collects.
  void addCache(const std::string& name, const executor::Executor& executor);

  // kUnavailable if the coordinator has not answered for two minutes, or not yet.
  Status health();

 private:
  telemetry::Registry& registry_;
  const Clock& clock_;
  const Clock& steady_;
  prometheus::Gauge& running_;
  prometheus::Family<prometheus::Counter>& actions_;
  prometheus::Family<prometheus::Histogram>& actionSeconds_;
  prometheus::Family<prometheus::Histogram>& sandboxSeconds_;
  prometheus::Family<prometheus::Counter>& calls_;
  prometheus::Gauge& contact_;
  Mutex mutex_;
  std::optional<TimePoint> answered_ KILN_GUARDED_BY(mutex_);  // steady
};

// A runner whose actions are counted. Thread safe as the one inside. All must outlive it.
class MeteredRunner final : public Runner {
 public:
  MeteredRunner(Runner& inner, WorkerMetrics& metrics, const Clock& steady)
      : inner_(inner), metrics_(metrics), steady_(steady) {}

  Result<Outcome> run(const v1::Lease& lease, int slot, const sandbox::Cancel& cancel,
                      const std::function<void(const std::string&)>& onStage) override;
  std::vector<std::string> warmToolchains() const override { return inner_.warmToolchains(); }
  std::vector<v1::Device> devices() const override { return inner_.devices(); }
  std::string missingGpus() const override { return inner_.missingGpus(); }

 private:
  Runner& inner_;
  WorkerMetrics& metrics_;
  const Clock& steady_;
};

}  // namespace kiln::agent
