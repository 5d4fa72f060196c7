// The HTTP side of a process for whoever watches it: GET /metrics in Prometheus' text format, or in
// OpenMetrics' where that is asked for; GET /healthz. In the clear and without asking who calls: for
// loopback, or for a network that only those may reach who may read metrics.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "manifest/base/result.h"
#include "storage/serving/connection_limiter.h"
#include "storage/telemetry/registry.h"

namespace kiln::telemetry {

struct MetricsServerOptions {
  std::string host = "127.0.0.1";  // numeric, an IPv6 address also in brackets, or localhost
  std::uint16_t port = 0;          // 0: the system chooses; see port()
  // Each connection gets one answer. A new one takes the place of the oldest where there are too many, in all
  // or of one address.
  serving::ConnectionLimits limits{.connections = 64, .perAddress = 32, .anonymous = 64};
  std::uint32_t maxHeaderBytes = 8 << 10;
  std::chrono::milliseconds requestTimeout{5000};  // for a whole request
  std::chrono::milliseconds writeTimeout{10000};   // for a whole answer
  std::chrono::milliseconds healthTimeout{2000};   // for what `health` says; then that is an error
};

// A running server with one thread for sockets, one that collects, one that asks for health. Thread safe.
// Destroying it closes every connection and joins the threads; it waits for a `health` that is under way.
class MetricsServer {
 public:
  // `health`: an error answers /healthz with 503 and its message, as one line. It is called on a thread of
  // its own, one at a time, and what it refers to must outlive the server, as must what `metrics` collects
  // from. kInvalidArgument if the host is no address, kUnavailable if it cannot be bound.
  static Result<std::unique_ptr<MetricsServer>> start(const MetricsServerOptions& options,
                                                      std::shared_ptr<const Registry> metrics,
                                                      std::function<Status()> health);
  virtual ~MetricsServer() = default;
  virtual std::uint16_t port() const = 0;
};

// What a program's command line says: --metrics and --metrics-port-file.
struct MetricsFlags {
  std::string address;   // HOST:PORT; "" for no server
  std::string portFile;  // receives the port in decimal; "" for none
};
inline constexpr char kMetricsHelp[] =
    "HOST:PORT that serves /metrics and /healthz, in the clear and to everybody who reaches it; off by "
    "default";
inline constexpr char kMetricsPortFileHelp[] = "file that receives its port";

// kInvalidArgument naming the option.
Status checkMetricsFlags(const MetricsFlags& flags);

// Null if `flags` name no address. Errors as of start(), naming the option; kPermissionDenied if the port
// file cannot be written.
Result<std::unique_ptr<MetricsServer>> serveMetrics(const MetricsFlags& flags,
                                                    std::shared_ptr<const Registry> metrics,
                                                    std::function<Status()> health);

}  // namespace kiln::telemetry
