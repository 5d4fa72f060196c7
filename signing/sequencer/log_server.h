// kiln-log without its main: runs the sequencer until a signal.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "manifest/base/result.h"
#include "signing/sequencer/sequencer.h"
#include "storage/telemetry/metrics_server.h"

namespace kiln::signing {

struct LogOptions {
  std::string key;                     // PREFIX of PREFIX.key, mode 0600, and PREFIX.vkey
  std::vector<std::string> earlier;    // .vkey files of the log's earlier keys
  std::string database;                // libpq conninfo
  std::string tiles;                   // directory, or s3:// URL
  std::vector<std::string> witnesses;  // "FILE.vkey=URL"
  int quorum = -1;                     // cosignatures that a checkpoint needs; -1: of all of them
  telemetry::MetricsFlags metrics = {};
  std::string logFormat = "text";  // or json
  std::string traces = {};         // URL of an OTLP receiver; "" for none
};

// PREFIX.key and PREFIX.vkey: a new Ed25519 key for the log `origin`. kAlreadyExists rather than overwrite.
Status makeLogKey(const std::string& origin, const std::string& prefix);

// Until SIGTERM or SIGINT. Waits for a database that is away or not migrated yet. An error ends it: an option
// is invalid, another sequencer has taken over, or the log is damaged.
Status runLog(const LogOptions& options, std::function<void(std::string_view)> reached = [](auto) {});

// Reads the command line; an exit code if there is nothing to run.
std::optional<int> readLogCommandLine(int argc, char** argv, LogOptions& options);

}  // namespace kiln::signing
