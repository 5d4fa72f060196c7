// Every part of a coordinator that answers calls or works by itself, wired together.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string_view>

#include "coordinator/access/gate.h"
#include "coordinator/drivers/executed_result.h"
#include "coordinator/drivers/job_driver.h"
#include "coordinator/farm/instances.h"
#include "coordinator/farm/queue_watch.h"
#include "coordinator/policy/promoter.h"
#include "coordinator/queue/notification_pump.h"
#include "coordinator/reapi/known_results.h"
#include "coordinator/rpc/action_cache_service.h"
#include "coordinator/rpc/artifact_service.h"
#include "coordinator/rpc/attestation_service.h"
#include "coordinator/rpc/audit_service.h"
#include "coordinator/rpc/capabilities_service.h"
#include "coordinator/rpc/execution_service.h"
#include "coordinator/rpc/fleet_service.h"
#include "coordinator/rpc/maintenance_service.h"
#include "coordinator/rpc/recall_service.h"
#include "coordinator/rpc/toolchain_service.h"
#include "coordinator/server/call_watch.h"
#include "coordinator/server/farm.h"
#include "coordinator/server/guarded_services.h"
#include "coordinator/server/inputs.h"
#include "coordinator/server/rpc_metrics.h"
#include "coordinator/signatures/logged_signer.h"
#include "coordinator/signatures/statement_reader.h"
#include "manifest/base/steady_clock.h"

namespace kiln::server {

// Members stand in the order in which each needs those above it. Not thread safe itself; what it serves is.
class FarmServices {
 public:
  // Until start(), whatever needs the database answers kUnavailable. `reached` is told the points of
  // farm/observers.h.
  FarmServices(const Options& options, postgres::ConnectionOptions database, Inputs inputs,
               std::function<void(std::string_view)> reached, const service::Tracing& tracing = {});

  // The database is migrated and its generation open: begins to drive jobs, to promote and to collect.
  void start();
  // No waiting call is answered any more, so that a server can shut down.
  void release();
  // Ends what start() has begun. The server must be down.
  void stop();

  // What the rest of the program serves or changes.
  const Inputs& inputs() const { return inputs_; }  // as they were at the start
  postgres::Pool& pool() { return pool_; }
  const std::shared_ptr<telemetry::Registry>& registry() const { return registry_; }
  const service::Judging& judging() const { return farm_.judging; }
  access::Gate& gate() { return gate_; }
  quota::Quotas& quotas() { return *farm_.leasing.quotas; }
  CallWatch& calls() { return calls_; }
  std::vector<grpc::Service*> guarded() { return guarded_.all(); }
  // For calls that came over HTTP: they say who makes them by access::relay(). Watched by calls() as well.
  std::vector<grpc::Service*> guardedOverHttp() { return relayed_.overHttp(); }
  const Clock& clock() const { return clock_; }
  // For the plaintext endpoint on loopback, with the watch of its calls.
  std::vector<grpc::Service*> guardedReapi() { return loopback_.reapi(); }
  CallWatch& reapiCalls() { return reapiCalls_; }

 private:
  Services services();
  CallWatch::Ended callEnded();

  // What everything stands on.
  const postgres::ConnectionOptions database_;
  Inputs inputs_;
  SystemClock clock_;
  SteadyClock steady_;
  postgres::Pool pool_, recallPool_;
  std::unique_ptr<signing::Signer> unloggedSigner_;
  service::LogGrowth growth_;
  service::LoggedSigner signer_;
  std::shared_ptr<telemetry::Registry> registry_ = std::make_shared<telemetry::Registry>();
  service::Metrics metrics_;
  RpcMetrics rpcMetrics_;
  ToolCalls toolCalls_;
  queue::ChangeFeed feed_;
  Farm farm_;

  // What works by itself.
  service::JobDriver driver_;
  service::Promoter promoter_;
  service::GarbageCollector garbage_;
  service::StatementReader statements_;
  service::QueueWatch queueWatch_;
  std::optional<queue::NotificationPump> pump_;
  std::unique_ptr<service::RecallLogger> recallLogger_;  // null without a log

  // What callers see, and the gate before it.
  service::JobService jobs_;
  service::WorkerService workers_;
  service::FleetService fleet_;
  service::ArtifactService artifacts_;
  service::ToolchainService toolchains_;
  service::AuditService audits_;
  service::RecallService recalls_;
  service::AttestationService attestations_;
  service::MaintenanceService maintenance_;
  service::ExecutedResults executedResults_;
  reapi_cache::KnownResults knownResults_;
  service::ActionCacheService actionCache_;
  service::CapabilitiesService capabilities_;
  service::ExecutionService executions_;
  access::DiscoveredKeys issuerKeys_{steady_};
  access::Gate gate_;
  std::unique_ptr<access::Gate> reapiGate_;
  CallWatch calls_, reapiCalls_;
  service::Instances instances_;
  // Of the second the services of the Remote Execution API alone, of the third those that have a form over
  // HTTP.
  GuardedServices guarded_, loopback_, relayed_;
};

}  // namespace kiln::server
