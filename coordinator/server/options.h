// What kiln-coordinator is started with.
#pragma once

#include <cstdint>
#include <string>

#include "manifest/base/result.h"

namespace kiln::server {

struct Options {
  std::string listen;                // "unix:/path"; the socket gets mode 0600
  std::string database;              // libpq conninfo
  std::string store;                 // directory of the CAS
  std::string signer;                // "unix:/path" of kiln-signer
  std::string logKey;                // verifier key of the log, a .vkey file
  std::string logTiles;              // directory of kiln-log's files, served below /log/; "" for none
  std::string workerCa;              // certificate of the worker authority, PEM file
  std::string builderId;             // URI that trust roots name
  std::string http = "127.0.0.1:0";  // loopback address and port of the read-only HTTP side
  std::string httpPortFile;          // receives the port in decimal; "" for none
  int leaseSeconds = 30;
  int attempts = 3;
  int gcGraceSeconds = 7 * 24 * 3600;  // how long an unneeded blob stays after it was last asked for
  int gcIntervalSeconds = 24 * 3600;   // between collections of garbage; 0: only when asked
  int graceSeconds = 15;               // after a start, until a missing worker counts as missing
};

// kInvalidArgument naming the flag.
Status checkOptions(const Options& options);

struct HostPort {
  std::string host;
  std::uint16_t port = 0;
};
Result<HostPort> parseHostPort(const std::string& text);

}  // namespace kiln::server
