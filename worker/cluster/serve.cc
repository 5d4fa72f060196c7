#include "worker/cluster/serve.h"

#include <optional>

#include "storage/blob/metered_blob_store.h"
#include "storage/direct/direct_blob_store.h"
#include "storage/logging/log.h"
#include "storage/remote/remote_blob_store.h"
#include "storage/telemetry/host_metrics.h"
#include "storage/tracing/exporter.h"
#include "worker/agent/agent.h"
#include "worker/agent/traced_runner.h"
#include "worker/agent/worker_metrics.h"
#include "worker/cluster/cluster_runner.h"
#include "worker/cluster/connection.h"

namespace kiln::cluster {
namespace {

Result<Digest> digestOfSandbox(const ClusterSandbox& where) {
  KILN_ASSIGN(const std::string text, toCanonicalJson(where.toJson()));
  return digestOf(text);
}

Result<v1::WorkerDescription> describe(const ServeOptions& options, const signing::WorkerIdentity& identity) {
  v1::WorkerDescription description;
  description.set_name(identity.name());
  description.set_operator_(identity.operatorName());
  description.set_certificate_pem(identity.certificatePem());
  description.set_slots(options.slots);
  for (const std::string& target : options.targets) description.add_targets(target);
  description.add_kinds(v1::ACTION_COMPILE);
  KILN_ASSIGN(const Digest sandbox, digestOfSandbox(options.cluster.where));
  auto& facts = *description.mutable_facts();
  facts["executor"] = ClusterSandbox::kName;
  facts["cluster"] = options.cluster.where.address;
  facts["sandboxPolicy"] = sandbox.text();
  return description;
}

}  // namespace

std::string describeSandbox(const ClusterSandbox& where) {
  const auto digest = digestOfSandbox(where);
  return (digest ? digest->text() : digest.error().message) + "\n" + where.toJson().dump(2) + "\n";
}

Result<bool> serve(const ServeOptions& options, const signing::WorkerIdentity& identity,
                   const std::shared_ptr<storage::Endpoints>& coordinators) {
  KILN_TRY(telemetry::checkMetricsFlags(options.metrics));
  KILN_ASSIGN(const auto channel, connect(options.cluster));
  KILN_ASSIGN(auto description, describe(options, identity));
  storage::RemoteBlobStore coordinator(coordinators);
  storage::DirectBlobStore remote(coordinators, coordinator);
  const auto metered = std::make_shared<telemetry::Registry>();
  storage::MeteredBlobStore store(remote, *metered, "coordinator");
  const SystemClock wallClock;
  const SteadyClock clock;
  agent::WorkerMetrics metrics(*metered, options.slots, wallClock, clock);
  ClusterRunner runner(store, channel, options.cluster, clock);
  KILN_ASSIGN(const auto exporter, tracing::exportTo(options.traces, "kiln-worker"));
  tracing::addTraceMetrics(*metered, exporter.get());
  std::optional<agent::TracedRunner> traced;
  if (exporter) traced.emplace(runner, *exporter, wallClock);
  agent::MeteredRunner counted(traced ? static_cast<agent::Runner&>(*traced) : runner, metrics, clock);
  telemetry::addProcessMetrics(*metered);
  KILN_ASSIGN(const auto watched,
              telemetry::serveMetrics(options.metrics, metered, [&] { return metrics.health(); }));
  agent::Agent agent(coordinators, counted, identity, clock,
                     {.description = std::move(description),
                      .drainTime = std::chrono::seconds(options.drainSeconds),
                      .called = [&](bool answered) { metrics.called(answered); }});
  logging::info("worker starts", {{"worker", identity.name()},
                                  {"operator", identity.operatorName()},
                                  {"slots", std::to_string(options.slots)},
                                  {"cluster", options.cluster.where.address},
                                  {"instance", options.cluster.where.instance},
                                  {"coordinator", coordinators->names()}});
  const bool clean = agent.run(true);
  if (clean) logging::info("worker ends", {{"worker", identity.name()}});
  return clean;
}

}  // namespace kiln::cluster
