#include "coordinator/server/farm_services.h"

#include <chrono>

#include "coordinator/access/issuer_metrics.h"
#include "coordinator/access/relayed_caller.h"
#include "coordinator/farm/log.h"
#include "coordinator/recall/logged_recalls.h"
#include "coordinator/recall/recall_logger.h"
#include "storage/postgres/conninfo.h"
#include "storage/postgres/pool_metrics.h"
#include "storage/telemetry/host_metrics.h"

namespace kiln::server {
namespace {

using std::chrono::seconds;

constexpr char kVersion[] = "0.1.0";
constexpr std::size_t kDatabaseSessions = 16, kRecallSessions = 4;
// Where a standby takes over calls wait for it, for less than clients do.
constexpr seconds kTakeover{25};

seconds patienceWith(const postgres::ConnectionOptions& database) {
  return postgres::namesSeveralHosts(database.conninfo) ? kTakeover : seconds(0);
}

std::unique_ptr<service::RecallLogger> recallLogger(const Options& options, postgres::Pool& database,
                                                    const Clock& clock, service::LogGrowth& growth) {
  if (options.logTiles.empty()) return nullptr;
  return std::make_unique<service::RecallLogger>(database, clock, growth, options.logTiles);
}

}  // namespace

FarmServices::FarmServices(const Options& options, postgres::ConnectionOptions database, Inputs inputs,
                           std::function<void(std::string_view)> reached, const service::Tracing& tracing)
    : database_(std::move(database)),
      inputs_(std::move(inputs)),
      pool_(database_, kDatabaseSessions, patienceWith(database_)),
      recallPool_(database_, kRecallSessions, patienceWith(database_)),
      unloggedSigner_(signing::connectSigner(options.signer)),
      growth_(pool_),
      signer_(*unloggedSigner_, pool_, growth_, inputs_.logKeys),
      metrics_(*registry_),
      rpcMetrics_(*registry_),
      toolCalls_(clock_, tracing.sink, tracing.share),
      farm_{
          .stores = {clock_, pool_, *inputs_.blobs},
          .recallDatabase = recallPool_,
          .signatory = {signer_, {options.builderId, {{"kiln", kVersion}}}},
          .observers = {metrics_, std::move(reached), {tracing.sink, tracing.share, &registry_->exemplars()}},
          .leasing = {.feed = feed_,
                      .queue = queue::LeaseQueue(
                          clock_, {.lease = seconds(options.leaseSeconds), .attempts = options.attempts}),
                      .workerAuthority = inputs_.workerAuthority,
                      .graceUntil = clock_.now() + seconds(options.graceSeconds),
                      .quotas = std::make_shared<quota::Quotas>(inputs_.quotas),
                      .sandboxPolicies = inputs_.sandboxPolicies,
                      .clusterPolicies = inputs_.clusterPolicies}},
      driver_(farm_.planning, farm_.leasing, farm_.observers, {.steady = &steady_}),
      promoter_(farm_.judging, inputs_.policies),
      garbage_(farm_.stores, farm_.signatory, farm_.observers, *inputs_.blobs,
               {.grace = seconds(options.gcGraceSeconds), .every = seconds(options.gcIntervalSeconds)}),
      statements_(farm_.stores),
      queueWatch_(pool_, *farm_.leasing.quotas, *registry_, clock_, steady_),
      recallLogger_(recallLogger(options, pool_, clock_, growth_)),
      jobs_(farm_.planning, farm_.admissions, farm_.leasing, farm_.observers, driver_),
      workers_(farm_.stores, farm_.signatory, farm_.leasing, farm_.observers, farm_.recalls, driver_),
      fleet_(farm_.stores, farm_.leasing),
      artifacts_(pool_),
      toolchains_(farm_.admissions),
      audits_(farm_.stores),
      recalls_(farm_.recalls, clock_, farm_.observers, {options.trustRoot, recallLogger_.get()}),
      attestations_(farm_.judging, inputs_.policies, signer_, *farm_.leasing.quotas),
      maintenance_(farm_.stores, farm_.signatory, garbage_),
      executedResults_(farm_.planning),
      knownResults_(farm_.stores, executedResults_),
      actionCache_(farm_.stores, knownResults_, {pool_, clock_, *farm_.leasing.quotas}),
      executions_(farm_.planning, farm_.admissions, farm_.leasing, farm_.observers, driver_, knownResults_),
      gate_(clock_, inputs_.workerAuthority, inputs_.access, &issuerKeys_),
      reapiGate_(access::Gate::ofLoopback(clock_, inputs_.workerAuthority)),
      calls_(steady_, {}, callEnded()),
      reapiCalls_(steady_, {}, callEnded()),
      instances_(pool_),
      guarded_({gate_, calls_, instances_}, services()),
      loopback_({*reapiGate_, reapiCalls_, instances_}, services()),
      relayed_({gate_, calls_, instances_, access::relayedCredentials}, services()) {
  for (postgres::Pool* pool : {&pool_, &recallPool_})
    pool->holdBack({Code::kUnavailable,
                    "the coordinator is starting and its database is not ready yet; try again shortly",
                    {}});
  telemetry::addProcessMetrics(*registry_);
  const std::string& onDisk = storage::isShared(options.store) ? options.storeCache : options.store;
  if (!onDisk.empty()) telemetry::addDiskMetrics(*registry_, "store", onDisk);
  postgres::addPoolMetrics(*registry_, pool_);
  addCallMetrics(*registry_, calls_);
  access::addIssuerMetrics(*registry_, issuerKeys_);
  farm_.admissions.trustRoot = options.trustRoot;
  if (!options.logTiles.empty() && !options.trustRoot.empty())
    farm_.recalls.logged = std::make_shared<service::LoggedRecalls>(options.logTiles, options.trustRoot);
}

Services FarmServices::services() {
  return {jobs_,          workers_,
          fleet_,         artifacts_,
          toolchains_,    maintenance_,
          audits_,        recalls_,
          attestations_,  actionCache_,
          capabilities_,  *inputs_.blobs,
          *inputs_.blobs, {pool_, clock_, *farm_.leasing.quotas},
          executions_};
}

CallWatch::Ended FarmServices::callEnded() {
  return [this](const EndedCall& call) {
    rpcMetrics_.ended(call.method, call.code, call.took);
    toolCalls_.ended(call);
  };
}

void FarmServices::start() {
  pool_.admit();
  recallPool_.admit();
  pump_.emplace(database_, feed_);
  driver_.start();
  garbage_.start();
  statements_.start();
  promoter_.start();
  queueWatch_.start();
  if (const auto recalls = service::recallsInForce(farm_.recalls); !recalls)
    service::logWarning("recalls are in doubt", {{"error", recalls.error().message}});
}

void FarmServices::release() {
  pool_.hurry();
  recallPool_.hurry();
  feed_.close();
  growth_.stop();
}

void FarmServices::stop() {
  queueWatch_.stop();
  promoter_.stop();
  statements_.stop();
  garbage_.stop();
  driver_.stop();
  pump_.reset();
}

}  // namespace kiln::server
