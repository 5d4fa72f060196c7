// kiln-signer: holds the artifact key and signs what it has checked.
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <csignal>
#include <cstdio>

#include "manifest/base/exit_code.h"
#include "manifest/base/program.h"
#include "manifest/base/steady_clock.h"
#include "manifest/base/usage.h"
#include "signing/keys/files.h"
#include "signing/server/key_commands.h"
#include "signing/server/local_signer.h"
#include "signing/server/logged_records.h"
#include "signing/server/metered_signer.h"
#include "signing/server/server.h"
#include "signing/token/key_location.h"
#include "storage/farm_store/farm_store.h"
#include "storage/logging/log.h"
#include "storage/postgres/conninfo.h"
#include "storage/postgres/database_health.h"
#include "storage/postgres/pool_metrics.h"
#include "storage/telemetry/host_metrics.h"
#include "storage/telemetry/metrics_server.h"
#include "storage/tracing/exporter.h"

namespace kiln::signing {
namespace {

constexpr std::size_t kDatabaseSessions = 4;

struct ServeOptions {
  std::string listen, key, store, storeCache, workerCa, database, records, trustRoot;
  int storeCacheMib = 1024;
  telemetry::MetricsFlags metrics;
  std::string logFormat = "text", traces;
};

// Whether it could sign: what was signed is looked up first, and what a statement rests on is in the store.
Status checkHealth(postgres::DatabaseHealth& database, const std::string& store) {
  if (const Status answers = database.check(); !answers) return fail(answers.error().in("the database"));
  if (storage::isShared(store)) return {};
  if (::access(store.c_str(), R_OK | X_OK) != 0) return fail(errnoError(errno, "the store " + store));
  return {};
}

Status serve(const ServeOptions& options, const Clock& clock) {
  logging::start("kiln-signer", logging::formatNamed(options.logFormat));
  // Blocked before any thread exists, so that only sigwait below sees them.
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGINT);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);

  if (auto database = postgres::checkConninfo(options.database); !database)
    return fail(database.error().in("--database"));
  KILN_TRY(telemetry::checkMetricsFlags(options.metrics));
  KILN_ASSIGN(PrivateKey key, loadKey(options.key));
  KILN_ASSIGN(std::string pem, readTrustFile(options.workerCa, 64 << 10));
  KILN_ASSIGN(Certificate authority, Certificate::fromPem(pem).map_error(
                                         [&](const Error& error) { return error.in(options.workerCa); }));
  postgres::Pool database({.conninfo = options.database, .applicationName = "kiln-signer"},
                          kDatabaseSessions);
  LoggedRecords records(database, LegacyRecords(options.records), key.publicKey(), clock);
  KILN_ASSIGN(const auto store,
              storage::FarmStore::open(
                  {.place = options.store,
                   .readOnly = true,
                   .database = {.conninfo = options.database, .applicationName = "kiln-signer blobs"},
                   .cache = options.storeCache,
                   .cacheBytes = static_cast<std::uint64_t>(options.storeCacheMib) << 20})
                  .map_error([](const Error& error) { return error.in("--store"); }));
  std::string keyId = key.publicKey().id();
  LocalSigner signer(std::move(key), std::move(authority), records, *store, clock, options.trustRoot);
  const auto registry = std::make_shared<telemetry::Registry>();
  telemetry::addProcessMetrics(*registry);
  postgres::addPoolMetrics(*registry, database);
  const SteadyClock steady;
  MeteredSigner metered(signer, *registry, steady);
  postgres::DatabaseHealth health(database.options());
  KILN_ASSIGN(const auto exporter, tracing::exportTo(options.traces, "kiln-signer"));
  tracing::addTraceMetrics(*registry, exporter.get());
  KILN_ASSIGN(auto server, SignerServer::start(options.listen, metered, exporter.get()));
  const auto isHealthy = [&] { return checkHealth(health, options.store); };
  KILN_ASSIGN(const auto watched, telemetry::serveMetrics(options.metrics, registry, isHealthy));
  logging::info("serving", {{"address", options.listen}, {"key", keyId}});
  int signal = 0;
  sigwait(&signals, &signal);
  logging::info("stopping", {{"signal", std::to_string(signal)}});
  server->stop();
  return {};
}

CLI::App* addServe(CLI::App& app, ServeOptions& options) {
  CLI::App* serving = app.add_subcommand("serve", "Sign over gRPC until SIGTERM");
  serving->add_option("--listen", options.listen, "unix:/path of the socket")->required();
  serving->add_option("--key", options.key, "the artifact key: a PEM file of mode 0600, or a PKCS#11 URI")
      ->required();
  serving
      ->add_option(
          "--store", options.store,
          "the farm's blob store, a directory or s3://BUCKET/PREFIX as the coordinator has it; only read")
      ->required();
  serving->add_option("--store-cache", options.storeCache, "directory for what was read of a bucket");
  serving->add_option("--store-cache-mib", options.storeCacheMib, "how much of it is kept there")
      ->check(CLI::Range(1, 1 << 30))
      ->capture_default_str();
  serving->add_option("--worker-ca", options.workerCa, "certificate of the worker authority")->required();
  serving
      ->add_option("--database", options.database,
                   "libpq connection string: what was signed, and the log's intake")
      ->required();
  serving->add_option("--records", options.records, "directory of what a release without a log signed");
  serving->add_option("--trust-root", options.trustRoot,
                      "root that names the farm's earlier keys and its rebuilders, whose statements "
                      "verification summaries may rest on; without it only those of --key");
  serving->add_option("--metrics", options.metrics.address, telemetry::kMetricsHelp);
  serving->add_option("--metrics-port-file", options.metrics.portFile, telemetry::kMetricsPortFileHelp);
  serving->add_option("--traces", options.traces, tracing::kTracesHelp);
  serving->add_option("--log-format", options.logFormat, logging::kFormatHelp)
      ->check(CLI::IsMember({"text", "json"}))
      ->capture_default_str();
  serving->footer(
      "Example: kiln-signer serve --listen unix:/run/kiln/signer.sock --key signer.pem --store store "
      "--worker-ca worker-ca.pem --database 'host=/run/kiln dbname=kiln'");
  return serving;
}

int run(int argc, char** argv) {
  SystemClock clock;
  CLI::App app("Signs artifact statements, and makes the keys of a farm.", "kiln-signer");
  app.require_subcommand(1);

  ServeOptions options;
  CLI::App* serving = addServe(app, options);
  RootOptions rootOptions;
  std::string out, ca, name, operatorName;
  CLI::App* key = app.add_subcommand("make-key", "Make an artifact key");
  key->add_option("--out", out, "file to create, or a PKCS#11 URI: the key is made in that token")
      ->required();
  key->footer(
      "Example: kiln-signer make-key --out signer.pem\n"
      "         kiln-signer make-key --out 'pkcs11:token=farm;object=signer?"
      "module-path=/usr/lib/softhsm/libsofthsm2.so&pin-source=/etc/kiln/pin'");

  CLI::App* publicKey = app.add_subcommand("public-key", "Print a key's public half, PEM");
  publicKey->add_option("--key", out, "the key: a PEM file or a PKCS#11 URI")->required();
  publicKey->footer("Example: kiln-signer public-key --key signer.pem");

  CLI::App* root = app.add_subcommand("make-root", "Make a development trust root for one key");
  root->add_option("--key", rootOptions.key, "the artifact key")->required();
  root->add_option("--builder-id", rootOptions.builderId, "URI of the farm as a builder")->required();
  root->add_option("--log-key", rootOptions.logKey,
                   "verifier key of the farm's log, the .vkey file of kiln-log's key");
  root->add_flag("--development", rootOptions.development,
                 "mark it so; policies refuse such roots unless they allow them");
  root->add_option("--recall-key", rootOptions.recallKey, "a key that alone may recall what this farm built");
  root->add_option("--out", out, "file to create")->required();
  root->footer(
      "Example: kiln-signer make-root --key signer.pem --builder-id urn:kiln:builder:dev --log-key log.vkey "
      "--development --out "
      "root.json");

  CLI::App* completing = app.add_subcommand(
      "complete-root", "Give a development root of an earlier release the log and recall key that it lacks");
  completing->add_option("--log-key", rootOptions.logKey, "verifier key of the farm's log, a .vkey file");
  completing->add_option("--recall-key", rootOptions.recallKey, "a key that alone may recall");
  completing->add_option("--root", out, "the root; replaced by its next version if it lacks one of them")
      ->required();
  completing->footer("Example: kiln-signer complete-root --root root.json --log-key log.vkey");

  CLI::App* authority = app.add_subcommand("make-worker-ca", "Make the authority that names workers");
  authority->add_option("--out", out, "directory for worker-ca.pem and worker-ca.key")->required();
  authority->footer("Example: kiln-signer make-worker-ca --out keys");

  CLI::App* worker = app.add_subcommand("make-worker-certificate", "Make a worker's key and certificate");
  worker->add_option("--ca", ca, "directory of the authority")->required();
  worker->add_option("--name", name, "the worker")->required();
  worker->add_option("--operator", operatorName, "who runs it")->required();
  worker->add_option("--out", out, "prefix of the .pem and .key files")->required();
  worker->footer(
      "Example: kiln-signer make-worker-certificate --ca keys --name w1 --operator acme --out keys/w1");

  try {
    parseWords(app, argc, argv);
  } catch (const CLI::ParseError& error) {
    return usageExit(app, error);
  }
  Status done;
  if (*serving) done = serve(options, clock);
  if (*key) done = makeKey(out);
  if (*publicKey) {
    const auto pem = publicKeyPem(out);
    if (pem) std::fputs(pem->c_str(), stdout);
    if (!pem) done = fail(pem.error());
  }
  if (*root) done = makeRoot(rootOptions, out, clock);
  if (*completing) done = completeRoot(rootOptions, out, clock);
  if (*authority) done = makeWorkerCa(out, clock);
  if (*worker) done = makeWorkerCertificate(ca, name, operatorName, out, clock);
  if (done) return 0;
  std::fprintf(stderr, "kiln-signer: error: %s\n", done.error().message.c_str());
  return exitCodeOf(done.error().code);
}

}  // namespace
}  // namespace kiln::signing

int main(int argc, char** argv) {
  return kiln::runMain("kiln-signer", [&] { return kiln::signing::run(argc, argv); });
}
