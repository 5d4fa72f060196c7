#include "coordinator/server/coordinator.h"

#include <fmt/format.h>
#include <grpcpp/health_check_service_interface.h>
#include <sys/resource.h>

#include <csignal>
#include <fstream>

#include "api/gateway/gateway.h"
#include "coordinator/drivers/job_driver.h"
#include "coordinator/farm/instances.h"
#include "coordinator/farm/log.h"
#include "coordinator/policy/promoter.h"
#include "coordinator/queue/notification_pump.h"
#include "coordinator/recall/logged_recalls.h"
#include "coordinator/recall/recalls.h"
#include "coordinator/rpc/artifact_service.h"
#include "coordinator/rpc/attestation_service.h"
#include "coordinator/rpc/audit_service.h"
#include "coordinator/rpc/job_service.h"
#include "coordinator/rpc/maintenance_service.h"
#include "coordinator/rpc/recall_service.h"
#include "coordinator/rpc/toolchain_service.h"
#include "coordinator/rpc/worker_service.h"
#include "coordinator/server/database_health.h"
#include "coordinator/server/farm.h"
#include "coordinator/server/guarded_services.h"
#include "coordinator/server/http_gate.h"
#include "coordinator/server/listen.h"
#include "coordinator/server/live_tls.h"
#include "coordinator/server/log_files.h"
#include "coordinator/server/published_blobs.h"
#include "coordinator/server/releases.h"
#include "coordinator/signatures/logged_signer.h"
#include "coordinator/signatures/statement_reader.h"
#include "manifest/base/steady_clock.h"
#include "storage/blob/local_blob_store.h"
#include "storage/index/artifacts/referrer_repository.h"
#include "storage/index/fleet/farm_repository.h"
#include "storage/index/schema.h"

namespace kiln::server {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr char kVersion[] = "0.1.0";
constexpr std::size_t kDatabaseSessions = 16;
constexpr milliseconds kDatabaseRetry{500};
constexpr seconds kShutdown{3};

// SIGTERM, SIGINT and SIGHUP, taken one by one by the main thread.
class Signals {
 public:
  Signals() {
    sigemptyset(&set_);
    for (int signal : {SIGTERM, SIGINT, SIGHUP}) sigaddset(&set_, signal);
    pthread_sigmask(SIG_BLOCK, &set_, nullptr);
  }
  // The one that came.
  int wait() {
    int signal = 0;
    sigwait(&set_, &signal);
    return signal;
  }
  // True if one that ends the program came within `timeout`.
  bool waitFor(milliseconds timeout) {
    timespec limit{static_cast<time_t>(timeout.count() / 1000), timeout.count() % 1000 * 1'000'000};
    const int signal = sigtimedwait(&set_, nullptr, &limit);
    return signal > 0 && signal != SIGHUP;
  }

 private:
  sigset_t set_;
};

// Every connection takes a descriptor, and many callers must not use up those of the store.
void allowManyDescriptors() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &limit);
}

Result<signing::Certificate> loadCertificate(const std::string& path) {
  std::ifstream file(path);
  std::string pem((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  if (!file && pem.empty()) return fail(Code::kNotFound, "--worker-ca: cannot read " + path);
  auto certificate = signing::Certificate::fromPem(pem);
  if (!certificate) return fail(certificate.error().in("--worker-ca " + path));
  return certificate;
}

Status prepareDatabase(const postgres::ConnectionOptions& options) {
  KILN_ASSIGN(postgres::Connection connection, postgres::Connection::open(options));
  KILN_TRY(postgres::migrate(connection, index::migrations()));
  KILN_TRY(index::nameReferrers(connection));
  KILN_ASSIGN(std::uint64_t generation, index::openGeneration(connection));
  service::logInfo("database ready",
                   {{"address", connection.address()}, {"generation", std::to_string(generation)}});
  return {};
}

// False if the program is to stop before the database came.
Result<bool> waitForDatabase(const postgres::ConnectionOptions& options, Signals& signals) {
  bool said = false;
  for (;;) {
    Status status = prepareDatabase(options);
    if (status) return true;
    // Another coordinator's migration may hold this one up.
    const bool away =
        status.error().code == Code::kUnavailable || status.error().code == Code::kDeadlineExceeded;
    if (!away) return fail(status.error().in("database"));
    if (!said) service::logWarning("waiting for the database", {{"error", status.error().message}});
    said = true;
    if (signals.waitFor(kDatabaseRetry)) return false;
  }
}

Status writePortFile(const char* flag, const std::string& path, std::uint16_t port) {
  if (path.empty()) return {};
  std::ofstream file(path, std::ios::trunc);
  file << port << '\n';
  file.close();
  if (!file) return fail(Code::kPermissionDenied, std::string(flag) + ": cannot write " + path);
  return {};
}

Result<access::AccessRules> loadAccess(const Options& options) {
  if (options.access.empty()) return access::AccessRules();
  auto rules = access::AccessRules::load(options.access);
  if (!rules) return fail(rules.error().in("--access"));
  return rules;
}

// A file that cannot be used changes nothing.
void reloadTls(LiveTls* tls) {
  if (!tls) return;
  if (const Status read = tls->reload(); !read)
    return service::logWarning("TLS files kept as they were", {{"error", read.error().message}});
  service::logInfo("TLS files read again", {});
}

// Likewise.
void reloadAccess(const Options& options, access::Gate& gate) {
  if (options.access.empty()) return;
  auto rules = loadAccess(options);
  if (!rules) return service::logWarning("access file kept as it was", {{"error", rules.error().message}});
  gate.replace(std::move(*rules));
  service::logInfo("access file read again", {{"file", options.access}});
}

}  // namespace

Status run(const Options& options, std::function<void(std::string_view)> reached) {
  KILN_TRY(checkOptions(options));
  allowManyDescriptors();
  Signals signals;
  SystemClock clock;

  // What everything stands on.
  KILN_ASSIGN(signing::Certificate workerAuthority, loadCertificate(options.workerCa));
  std::vector<signing::VerifierKey> logKeys;
  for (const std::string& path : options.logKeys) {
    KILN_ASSIGN(signing::VerifierKey key, signing::loadVerifierKey(path));
    logKeys.push_back(std::move(key));
  }
  KILN_ASSIGN(std::shared_ptr<storage::LocalBlobStore> blobs,
              storage::LocalBlobStore::open({.directory = options.store}));
  postgres::ConnectionOptions database{.conninfo = options.database, .applicationName = "kiln-coordinator"};
  postgres::Pool pool(database, kDatabaseSessions);
  pool.holdBack({Code::kUnavailable,
                 "the coordinator is starting and its database is not ready yet; try again shortly",
                 {}});
  std::unique_ptr<signing::Signer> unlogged = signing::connectSigner(options.signer);
  service::LogGrowth growth(pool);
  service::LoggedSigner signer(*unlogged, pool, growth, std::move(logKeys));
  auto registry = std::make_shared<prometheus::Registry>();
  service::Metrics metrics(*registry);
  queue::ChangeFeed feed;
  queue::Settings lease{.lease = seconds(options.leaseSeconds), .attempts = options.attempts};
  Farm farm{.stores = {clock, pool, *blobs},
            .signatory = {signer, {options.builderId, {{"kiln", kVersion}}}},
            .observers = {metrics, std::move(reached)},
            .leasing = {.feed = feed,
                        .queue = queue::LeaseQueue(clock, lease),
                        .workerAuthority = workerAuthority,
                        .graceUntil = clock.now() + seconds(options.graceSeconds)}};
  for (const std::string& policy : options.sandboxPolicies) {
    KILN_ASSIGN(const Digest digest, Digest::parse(policy, 0));
    farm.leasing.sandboxPolicies.push_back(digest);
  }
  farm.admissions.trustRoot = options.trustRoot;
  if (!options.logTiles.empty() && !options.trustRoot.empty())
    farm.recalls.logged = std::make_shared<service::LoggedRecalls>(options.logTiles, options.trustRoot);

  // What callers see. The server answers at once; until the database is migrated and its generation opened,
  // health is NOT_SERVING and whatever needs the database is UNAVAILABLE.
  const SteadyClock steady;
  service::JobDriver driver(farm.planning, farm.leasing, farm.observers, {.steady = &steady});
  service::JobService jobs(farm.planning, farm.admissions, farm.leasing, farm.observers, driver);
  service::WorkerService workers(farm.stores, farm.signatory, farm.leasing, farm.observers, farm.recalls,
                                 driver);
  service::FleetService fleet(farm.stores, farm.leasing.queue);
  service::ArtifactService artifacts(pool);
  service::ToolchainService toolchains(farm.admissions);
  service::AuditService audits(farm.stores);
  std::optional<service::RecallLogger> recallLogger;
  if (!options.logTiles.empty()) recallLogger.emplace(pool, clock, growth, options.logTiles);
  service::RecallService recalls(farm.recalls, clock, farm.observers,
                                 {options.trustRoot, recallLogger ? &*recallLogger : nullptr});
  service::StatementReader statements(farm.stores);
  KILN_ASSIGN(const service::InstancePolicies policies,
              service::InstancePolicies::load(options.trustRoot, options.policies));
  service::Promoter promoter(farm.judging, policies);
  service::AttestationService attestations(farm.judging, policies, signer);
  service::GarbageCollector garbage(
      farm.stores, farm.signatory, farm.observers, *blobs,
      {.grace = seconds(options.gcGraceSeconds), .every = seconds(options.gcIntervalSeconds)});
  service::MaintenanceService maintenance(farm.stores, farm.signatory, garbage);
  KILN_ASSIGN(access::AccessRules rules, loadAccess(options));
  const bool tokens = !rules.tokenIssuers().empty();
  access::Gate gate(clock, workerAuthority, std::move(rules));
  CallWatch calls(steady);
  service::Instances instances(pool);
  GuardedServices guarded({gate, calls, instances}, {jobs, workers, fleet, artifacts, toolchains, maintenance,
                                                     audits, recalls, attestations, *blobs});
  std::unique_ptr<LiveTls> tls;
  if (tokens && wantsTls(options) && options.tokenListen.empty())
    service::logInfo("gRPC takes no token without a certificate: there is no --token-listen", {});
  if (wantsTls(options)) {
    KILN_ASSIGN(tls, LiveTls::open(options, workerAuthority, tokens));
  }
  KILN_ASSIGN(Listener listener, listen(options, tls.get(), guarded.all(), calls));
  calls.start();
  grpc::Server* server = listener.server.get();
  server->GetHealthCheckService()->SetServingStatus(false);

  std::shared_ptr<gateway::LogFiles> logFiles;
  if (!options.logTiles.empty()) logFiles = std::make_shared<LogFilesOnDisk>(options.logTiles);
  KILN_ASSIGN(HostPort http, parseHostPort(options.http));
  DatabaseHealth health(database);
  gateway::GatewayBackend backend{.artifacts = std::make_shared<PublishedBlobs>(pool),
                                  .blobs = blobs,
                                  .metrics = registry,
                                  .health = [&health] { return health.check(); },
                                  .log = std::move(logFiles),
                                  .release = std::make_shared<Releases>(farm.judging, policies)};
  const auto of = [](const char* option) { return [=](const Error& error) { return error.in(option); }; };
  KILN_ASSIGN(
      auto web,
      gateway::Gateway::start({.address = http.host, .port = http.port}, backend).map_error(of("--http")));
  KILN_TRY(writePortFile("--http-port-file", options.httpPortFile, web->port()));
  std::unique_ptr<gateway::Gateway> secureWeb;
  if (!options.https.empty()) {
    KILN_ASSIGN(HostPort https, parseHostPort(options.https));
    backend.gate = std::make_shared<HttpGate>(gate, options.publicLog);
    KILN_ASSIGN(secureWeb, gateway::Gateway::start(
                               {.address = https.host, .port = https.port, .tls = tls->https()}, backend)
                               .map_error(of("--https")));
    KILN_TRY(writePortFile("--https-port-file", options.httpsPortFile, secureWeb->port()));
  }

  KILN_ASSIGN(bool ready, waitForDatabase(database, signals));
  if (ready) {
    pool.admit();
    health.admit();
    queue::NotificationPump pump(database, feed);
    driver.start();
    garbage.start();
    statements.start();
    promoter.start();
    if (const auto recalls = service::recallsInForce(farm.recalls); !recalls)
      service::logWarning("recalls are in doubt", {{"error", recalls.error().message}});
    server->GetHealthCheckService()->SetServingStatus(true);
    service::logInfo("serving", {{"address", fmt::format("{}", fmt::join(listener.addresses, " "))},
                                 {"http", http.host + ":" + std::to_string(web->port())},
                                 {"builder", options.builderId}});
    while (signals.wait() == SIGHUP) {
      reloadTls(tls.get());
      reloadAccess(options, gate);
    }
    service::logInfo("stopping", {});
    server->GetHealthCheckService()->SetServingStatus(false);
    feed.close();
    growth.stop();
    server->Shutdown(std::chrono::system_clock::now() + kShutdown);
    promoter.stop();
    statements.stop();
    garbage.stop();
    driver.stop();
  }
  if (secureWeb) secureWeb->stop();
  web->stop();
  return {};
}

}  // namespace kiln::server
