#include "coordinator/server/command_line.h"

#include <CLI/CLI.hpp>

#include "manifest/base/usage.h"
#include "storage/logging/log.h"
#include "storage/tracing/exporter.h"

namespace kiln::server {

namespace {

// Where gRPC is served, and who may call.
void addListeners(CLI::App& app, Options& options) {
  app.add_option("--listen", options.listen,
                 "unix:/path to serve gRPC on, or HOST:PORT with mutual TLS; may be repeated")
      ->required();
  app.add_option(
      "--token-listen", options.tokenListen,
      "HOST:PORT on loopback for callers with a token and no certificate, within TLS; wants a proxy before "
      "it (infra/deploy); may be repeated");
  app.add_option("--reapi-listen", options.reapiListen,
                 "HOST:PORT on loopback to serve the Remote Execution API on without TLS, for development: "
                 "whoever is on "
                 "this machine may execute actions");
  app.add_option("--tls-cert", options.tlsCertificate,
                 "certificate of this server with its chain, PEM; read again on SIGHUP, as are the next two");
  app.add_option("--tls-key", options.tlsKey, "its private key, PEM, mode 0600");
  app.add_option("--tls-client-ca", options.tlsClientCa,
                 "authorities of clients' certificates, PEM; workers' are known by --worker-ca");
  app.add_option("--access", options.access,
                 "access file: what callers over TLS may do; read again on SIGHUP");
  app.add_option("--quotas", options.quotas,
                 "quota file: how much each instance may have; read again on SIGHUP");
}

// What is kept where, and the log that it is written to.
void addStorage(CLI::App& app, Options& options) {
  app.add_option("--database", options.database, "libpq connection string")->required();
  app.add_option("--store", options.store,
                 "the blob store: a directory, or s3://BUCKET/PREFIX?endpoint=URL&... (storage/s3/README.md)")
      ->required();
  app.add_option("--store-cache", options.storeCache, "directory for what was read of a bucket");
  app.add_option("--store-cache-mib", options.storeCacheMib, "how much of it is kept there")
      ->capture_default_str();
  app.add_option("--signer", options.signer, "unix:/path of kiln-signer")->required();
  app.add_option(
         "--log-key", options.logKeys,
         "verifier key of the log, the .vkey file of kiln-log's key; again for each that it had before")
      ->required();
  app.add_option("--log-tiles", options.logTiles,
                 "directory of kiln-log's files, or its s3://BUCKET/PREFIX, to serve below /log/");
}

// Whom this farm believes, and what its workers may run.
void addTrust(CLI::App& app, Options& options) {
  app.add_option("--worker-ca", options.workerCa,
                 "certificate of the worker authority, PEM; read at the start alone")
      ->required();
  app.add_option("--builder-id", options.builderId, "builder.id URI written into provenance")->required();
  app.add_option("--trust-root", options.trustRoot,
                 "root.json: its recall keys may recall on this farm; --policy judges under it");
  app.add_option(
      "--policy", options.policies,
      "[INSTANCE=]FILE: hold the artifacts of INSTANCE (default: default) against this policy, under "
      "--trust-root, and sign what came of it; may be repeated");
  app.add_option(
      "--sandbox-policy", options.sandboxPolicies,
      "sha256:HEX of a sandbox policy that workers may run actions under (kiln-worker doctor prints its "
      "own); may be repeated; without it any that fits the action's kind");
  app.add_option("--cluster-policy", options.clusterPolicies,
                 "sha256:HEX of the sandbox document of a Remote Execution cluster that workers may offer "
                 "(kiln-worker doctor "
                 "--executor prints it); may be repeated; without it none");
}

// The HTTP side.
void addHttp(CLI::App& app, Options& options) {
  app.add_option("--http", options.http, "loopback HOST:PORT of the read-only HTTP side")
      ->capture_default_str();
  app.add_option("--http-port-file", options.httpPortFile, "file that receives the HTTP port");
  app.add_option("--http-socket", options.httpSocket,
                 "path of a Unix socket for the HTTP side, which only this user can open");
  app.add_option("--https", options.https,
                 "ADDRESS:PORT of the HTTP side within mutual TLS, for callers of the access file");
  app.add_option("--https-port-file", options.httpsPortFile, "file that receives its port");
  app.add_flag("--public-log", options.publicLog,
               "--https serves the log's checkpoint and tiles to everybody");
}

// What is measured, traced and logged.
void addTelemetry(CLI::App& app, Options& options) {
  app.add_option("--metrics", options.metrics.address, telemetry::kMetricsHelp);
  app.add_option("--metrics-port-file", options.metrics.portFile, telemetry::kMetricsPortFileHelp);
  app.add_option("--traces", options.traces, tracing::kTracesHelp);
  app.add_option("--trace-share", options.traceShare,
                 "how many jobs are traced, 0 to 1; chosen by the job's id; the same at all coordinators")
      ->check(CLI::Range(0.0, 1.0))
      ->capture_default_str();
  app.add_option("--log-format", options.logFormat, logging::kFormatHelp)
      ->check(CLI::IsMember({"text", "json"}))
      ->capture_default_str();
}

// How long the farm waits, and for what.
void addPatience(CLI::App& app, Options& options) {
  app.add_option("--lease-seconds", options.leaseSeconds, "how long a silent worker keeps its work")
      ->capture_default_str();
  app.add_option("--attempts", options.attempts, "leases per run before it fails")->capture_default_str();
  app.add_option("--grace-seconds", options.graceSeconds,
                 "after a start, wait this long for workers to report")
      ->capture_default_str();
  app.add_option("--gc-grace-seconds", options.gcGraceSeconds,
                 "how long a blob that nothing needs stays after it was last uploaded or asked for")
      ->capture_default_str();
  app.add_option("--gc-interval-seconds", options.gcIntervalSeconds,
                 "collect garbage this often; 0: only when kiln gc asks")
      ->capture_default_str();
}

}  // namespace

std::optional<int> readCommandLine(int argc, char** argv, Options& options) {
  CLI::App app("Takes jobs, hands work to workers and publishes what they built.", "kiln-coordinator");
  app.set_version_flag("--version", "kiln-coordinator 0.1.0");
  addListeners(app, options);
  addStorage(app, options);
  addTrust(app, options);
  addHttp(app, options);
  addTelemetry(app, options);
  addPatience(app, options);
  app.footer(
      "Example: kiln-coordinator --listen unix:/run/kiln/coordinator.sock --database 'host=/run/kiln "
      "dbname=kiln' "
      "--store store --signer unix:/run/kiln/signer.sock --log-key keys/log.vkey --worker-ca worker-ca.pem "
      "--builder-id "
      "https://example.org/kiln\nkiln-coordinator check-access --help: what the access file makes of a "
      "token.");
  try {
    parseWords(app, argc, argv);
  } catch (const CLI::ParseError& error) {
    return usageExit(app, error);
  }
  return std::nullopt;
}

}  // namespace kiln::server
