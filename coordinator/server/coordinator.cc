#include "coordinator/server/coordinator.h"

#include <fmt/format.h>
#include <grpcpp/health_check_service_interface.h>
#include <sys/resource.h>

#include <csignal>
#include <random>

#include "coordinator/farm/log.h"
#include "coordinator/server/farm_services.h"
#include "coordinator/server/inputs.h"
#include "coordinator/server/listen.h"
#include "coordinator/server/live_tls.h"
#include "coordinator/server/web.h"
#include "storage/index/artifacts/referrer_repository.h"
#include "storage/index/fleet/farm_repository.h"
#include "storage/index/schema.h"
#include "storage/postgres/database_health.h"
#include "storage/tracing/exporter.h"

namespace kiln::server {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kDatabaseRetry{500};
constexpr std::chrono::seconds kShutdown{3};

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

// Of this process alone.
std::string sessionName() {
  return fmt::format("{}{:08x}", index::kCoordinatorSession, std::random_device()());
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

void reloadQuotas(const Options& options, quota::Quotas& quotas) {
  if (options.quotas.empty()) return;
  auto rules = loadQuotas(options);
  if (!rules) return service::logWarning("quota file kept as it was", {{"error", rules.error().message}});
  quotas.replace(std::move(*rules));
  service::logInfo("quota file read again", {{"file", options.quotas}});
}

// Serves until a signal ends the program; SIGHUP has the files read again.
void serve(const Options& options, FarmServices& services, LiveTls* tls, Signals& signals) {
  while (signals.wait() == SIGHUP) {
    reloadTls(tls);
    reloadAccess(options, services.gate());
    reloadQuotas(options, services.quotas());
  }
  service::logInfo("stopping", {});
}

// Within TLS, if anything is served there; else null.
Result<std::unique_ptr<LiveTls>> openTls(const Options& options, const Inputs& inputs) {
  if (!wantsTls(options)) return nullptr;
  const bool tokens = !inputs.access.tokenIssuers().empty();
  if (tokens && options.tokenListen.empty())
    service::logInfo("gRPC takes no token without a certificate: there is no --token-listen", {});
  return LiveTls::open(options, inputs.workerAuthority, tokens);
}

}  // namespace

Status run(const Options& options, std::function<void(std::string_view)> reached) {
  KILN_TRY(checkOptions(options));
  allowManyDescriptors();
  Signals signals;
  const postgres::ConnectionOptions database{.conninfo = options.database, .applicationName = sessionName()};
  KILN_ASSIGN(Inputs inputs, readInputs(options));
  KILN_ASSIGN(const std::unique_ptr<LiveTls> tls, openTls(options, inputs));
  KILN_ASSIGN(const auto exporter, tracing::exportTo(options.traces, "kiln-coordinator"));
  FarmServices services(options, database, std::move(inputs), std::move(reached),
                        {exporter.get(), options.traceShare});
  tracing::addTraceMetrics(*services.registry(), exporter.get());

  // The server answers at once; until the database is migrated and its generation opened, health is
  // NOT_SERVING and whatever needs the database is UNAVAILABLE.
  KILN_ASSIGN(const Listener listener, listen(options, tls.get(), services.guarded(), services.calls()));
  services.calls().start();
  Listener reapi;
  if (!options.reapiListen.empty()) {
    KILN_ASSIGN(reapi, listenOnLoopback(options.reapiListen, services.guardedReapi(), services.reapiCalls()));
    services.reapiCalls().start();
    service::logInfo("the Remote Execution API is served in plaintext, for development",
                     {{"address", reapi.addresses.front()}});
  }
  grpc::Server& server = *listener.server;
  server.GetHealthCheckService()->SetServingStatus(false);
  postgres::DatabaseHealth health(database, "the coordinator is starting");
  KILN_ASSIGN(Web web, Web::start(options, tls.get(), services, health));

  KILN_ASSIGN(const bool ready, waitForDatabase(database, signals));
  if (ready) {
    health.admit();
    services.start();
    server.GetHealthCheckService()->SetServingStatus(true);
    service::logInfo("serving", {{"address", fmt::format("{}", fmt::join(listener.addresses, " "))},
                                 {"http", web.address()},
                                 {"builder", options.builderId}});
    serve(options, services, tls.get(), signals);
    server.GetHealthCheckService()->SetServingStatus(false);
    services.release();
    const auto until = std::chrono::system_clock::now() + kShutdown;
    server.Shutdown(until);
    if (reapi.server) reapi.server->Shutdown(until);
    web.release();
    services.stop();
  }
  web.stop();
  return {};
}

}  // namespace kiln::server
