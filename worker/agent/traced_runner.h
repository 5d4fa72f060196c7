// What a lease's action did, as spans of its job's trace.
#pragma once

#include "manifest/base/clock.h"
#include "storage/tracing/span.h"
#include "worker/agent/runner.h"

namespace kiln::agent {

// Passes everything on. A lease that names a trace leaves a span "action", with one for what came before the
// tool's first stage ("inputs") and one for each stage, until the next; the last has what came after it too.
class TracedRunner final : public Runner {
 public:
  // All must outlive it.
  TracedRunner(Runner& inner, tracing::SpanSink& sink, const Clock& clock)
      : inner_(inner), sink_(sink), clock_(clock) {}

  Result<Outcome> run(const v1::Lease& lease, int slot, const sandbox::Cancel& cancel,
                      const std::function<void(const std::string&)>& onStage) override;
  std::vector<std::string> warmToolchains() const override { return inner_.warmToolchains(); }
  std::vector<v1::Device> devices() const override { return inner_.devices(); }
  std::string missingGpus() const override { return inner_.missingGpus(); }

 private:
  Runner& inner_;
  tracing::SpanSink& sink_;
  const Clock& clock_;
};

}  // namespace kiln::agent
