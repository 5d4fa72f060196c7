#include "coordinator/server/options.h"

#include <algorithm>
#include <utility>

#include "manifest/base/digest.h"
#include "storage/farm_store/farm_store.h"
#include "storage/postgres/conninfo.h"
#include "storage/remote/channel.h"

namespace kiln::server {
namespace {

Status bad(const char* flag, const char* what) {
  return fail(Code::kInvalidArgument, std::string(flag) + ": " + what);
}

// By name or number, without asking for any address.
bool isLoopback(const std::string& host) {
  return host == "localhost" || host == "127.0.0.1" || host == "[::1]";
}

// What is missing for serving beyond this machine's sockets.
Status checkTls(const Options& options, const std::string& endpoint) {
  std::string missing;
  for (const auto& [flag, value] : {std::pair{"--tls-cert", &options.tlsCertificate},
                                    {"--tls-key", &options.tlsKey},
                                    {"--tls-client-ca", &options.tlsClientCa},
                                    {"--access", &options.access}})
    if (value->empty()) missing += (missing.empty() ? "" : ", ") + std::string(flag);
  if (missing.empty()) return {};
  return fail(Code::kInvalidArgument, endpoint + ": only a Unix socket is served without mutual TLS; give " +
                                          missing + " as well, or --listen unix:/path");
}

Status checkListen(const Options& options) {
  if (options.listen.empty()) return bad("--listen", "must be given");
  for (const std::string& endpoint : options.listen) {
    if (auto fits = storage::checkSocketPath(endpoint); !fits) return fail(fits.error().in("--listen"));
    if (isSocket(endpoint)) continue;
    if (auto address = parseHostPort(endpoint); !address)
      return fail(address.error().in("--listen wants unix:/path or HOST:PORT"));
    KILN_TRY(checkTls(options, "--listen " + endpoint));
  }
  return {};
}

Status checkTokenListen(const Options& options) {
  for (const std::string& endpoint : options.tokenListen) {
    const auto address = parseHostPort(endpoint);
    if (!address) return fail(address.error().in("--token-listen wants HOST:PORT"));
    if (!isLoopback(address->host))
      return fail(
          Code::kInvalidArgument,
          "--token-listen " + endpoint +
              ": is not on loopback; callers without a certificate come through a proxy on this machine "
              "(infra/deploy/README.md)");
    KILN_TRY(checkTls(options, "--token-listen " + endpoint));
  }
  return {};
}

Status checkReapiListen(const Options& options) {
  if (options.reapiListen.empty()) return {};
  const auto address = parseHostPort(options.reapiListen);
  if (!address) return fail(address.error().in("--reapi-listen wants HOST:PORT"));
  if (isLoopback(address->host)) return {};
  return fail(Code::kInvalidArgument,
              "--reapi-listen " + options.reapiListen +
                  ": is not on loopback; from other machines the same services are called at --listen, "
                  "with a certificate or a token");
}

Status checkHttps(const Options& options) {
  if (options.https.empty()) return {};
  if (auto https = parseHostPort(options.https); !https) return fail(https.error().in("--https"));
  return checkTls(options, "--https " + options.https);
}

}  // namespace

bool wantsTls(const Options& options) {
  return !options.https.empty() || !options.tokenListen.empty() ||
         !std::ranges::all_of(options.listen, isSocket);
}

bool isSocket(const std::string& endpoint) {
  return endpoint.starts_with("unix:/");
}

Status checkOptions(const Options& options) {
  KILN_TRY(checkListen(options));
  KILN_TRY(checkTokenListen(options));
  KILN_TRY(checkReapiListen(options));
  if (!options.signer.starts_with("unix:/")) return bad("--signer", "must be unix:/path");
  if (auto fits = storage::checkSocketPath(options.signer); !fits) return fail(fits.error().in("--signer"));
  if (auto database = postgres::checkConninfo(options.database); !database)
    return fail(database.error().in("--database"));
  if (auto store = storage::checkStorePlace(options.store, options.storeCache); !store)
    return fail(store.error().in(options.storeCache.empty() ? "--store" : "--store-cache"));
  if (options.storeCacheMib < 1) return bad("--store-cache-mib", "must be at least 1");
  if (options.builderId.empty()) return bad("--builder-id", "must not be empty");
  for (const std::string& policy : options.sandboxPolicies)
    if (auto digest = Digest::parse(policy, 0); !digest) return fail(digest.error().in("--sandbox-policy"));
  for (const std::string& policy : options.clusterPolicies)
    if (auto digest = Digest::parse(policy, 0); !digest) return fail(digest.error().in("--cluster-policy"));
  if (options.leaseSeconds < 1 || options.leaseSeconds > 3600)
    return bad("--lease-seconds", "must be 1 to 3600");
  if (options.attempts < 1 || options.attempts > 100) return bad("--attempts", "must be 1 to 100");
  if (options.graceSeconds < 0 || options.graceSeconds > 3600)
    return bad("--grace-seconds", "must be 0 to 3600");
  if (options.gcGraceSeconds < 1) return bad("--gc-grace-seconds", "must be at least 1");
  if (options.gcIntervalSeconds < 0) return bad("--gc-interval-seconds", "must be 0 or more");
  if (auto http = parseHostPort(options.http); !http) return fail(http.error().in("--http"));
  if (!options.httpSocket.empty())
    if (auto fits = storage::checkSocketPath("unix:" + options.httpSocket);
        !fits || options.httpSocket[0] != '/')
      return bad("--http-socket", "must be the path of a Unix socket, from '/' on and of at most 107 bytes");
  KILN_TRY(telemetry::checkMetricsFlags(options.metrics));
  if (options.traceShare > 0 && options.traces.empty())
    return bad("--trace-share", "traces nothing without --traces, which names the receiver");
  return checkHttps(options);
}

}  // namespace kiln::server
