// The options of kiln-coordinator.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "manifest/base/result.h"
#include "storage/serving/endpoint.h"
#include "storage/telemetry/metrics_server.h"

namespace kiln::server {

using serving::HostPort;
using serving::parseHostPort;

struct Options {
  std::vector<std::string> listen;  // "unix:/path", whose socket gets mode 0600, or "HOST:PORT", with TLS
  // "HOST:PORT" on loopback, with TLS: for callers who show a token and no certificate. Strangers reach
  // gRPC's HTTP/2 parser there, so something that parses HTTP/2 itself is to stand before it (infra/deploy).
  std::vector<std::string> tokenListen;
  // "HOST:PORT" on loopback, in plaintext: the Remote Execution API for whoever is on this machine, as a
  // submitter of every instance. For development; "" for none.
  std::string reapiListen;
  std::string tlsCertificate;         // of this server with its chain, PEM file
  std::string tlsKey;                 // its private key, PEM file, mode 0600
  std::string tlsClientCa;            // authorities of clients' certificates, PEM file
  std::string access;                 // the access file: what callers over TLS may do
  std::string quotas;                 // the quota file; "" for none
  std::string database;               // libpq conninfo
  std::string store;                  // directory of the CAS, or s3://BUCKET/PREFIX
  std::string storeCache;             // directory for what was read of a bucket; "" for none
  int storeCacheMib = 4096;           // how much of it
  std::string signer;                 // "unix:/path" of kiln-signer
  std::vector<std::string> logKeys;   // verifier keys that the log has or had, .vkey files
  std::string logTiles;               // where kiln-log's files are, served below /log/; "" for none
  std::string workerCa;               // certificate of the worker authority, PEM file
  std::string builderId;              // URI that trust roots name
  std::string trustRoot;              // root.json whose recall keys may recall here; "" for none
  std::vector<std::string> policies;  // "[INSTANCE=]FILE": what artifacts must satisfy to be promoted there
  std::vector<std::string> sandboxPolicies;  // "sha256:<hex>" of those that receipts may name; none: any
  std::vector<std::string> clusterPolicies;  // likewise of clusters that may run actions; none: no cluster
  std::string http = "127.0.0.1:0";          // loopback address and port of the read-only HTTP side
  std::string httpPortFile;                  // receives the port in decimal; "" for none
  std::string httpSocket;                    // path of a private Unix socket for the HTTP side; "" for none
  std::string https;                // numeric address and port of the HTTP side within TLS; "" for none
  std::string httpsPortFile;        // receives its port; "" for none
  telemetry::MetricsFlags metrics;  // what watches the farm from other machines
  std::string logFormat = "text";   // or json
  std::string traces;               // URL of an OTLP receiver; "" for none
  double traceShare = 0;            // of the jobs
  bool publicLog = false;           // within TLS, the log's checkpoint and tiles are for everybody
  int leaseSeconds = 30;
  int attempts = 3;
  int gcGraceSeconds = 7 * 24 * 3600;  // how long an unneeded blob stays after it was last asked for
  int gcIntervalSeconds = 24 * 3600;   // between collections of garbage; 0: only when asked
  int graceSeconds = 15;               // after a start, until a missing worker counts as missing
};

// Whether anything is served within TLS.
bool wantsTls(const Options& options);

// Whether an endpoint is a Unix socket, which only this user can open.
bool isSocket(const std::string& endpoint);

// kInvalidArgument naming the flag. An endpoint that is no Unix socket wants the TLS options and the access
// file.
Status checkOptions(const Options& options);

}  // namespace kiln::server
