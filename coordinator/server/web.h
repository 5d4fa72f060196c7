// The HTTP sides of a coordinator: in the clear on loopback, within TLS behind the gate, and for whoever
// watches it.
#pragma once

#include <memory>

#include "api/gateway/gateway.h"
#include "coordinator/server/farm_services.h"
#include "coordinator/server/live_tls.h"
#include "coordinator/server/options.h"
#include "storage/postgres/database_health.h"

namespace kiln::server {

// Serves until stop(), or its destruction. What start() is given must outlive it.
class Web {
 public:
  // Takes the ports of --http and, where they are given, of --https, which wants `tls`, and --metrics, and
  // writes them to their files; and the socket of --http-socket. Errors name the option.
  static Result<Web> start(const Options& options, const LiveTls* tls, FarmServices& services,
                           postgres::DatabaseHealth& health);

  // "HOST:PORT" of the side in the clear.
  std::string address() const { return plainHost_ + ":" + std::to_string(plain_->port()); }
  // Ends what callers over HTTP have called: the services must still be there.
  void release();
  void stop();

 private:
  Web() = default;

  std::string plainHost_;
  std::unique_ptr<grpc::Server> relay_;  // what is called over HTTP, within this process
  std::unique_ptr<gateway::Gateway> plain_;
  std::unique_ptr<gateway::Gateway> private_, secure_;  // null without --http-socket, --https
  std::unique_ptr<telemetry::MetricsServer> metrics_;   // null without --metrics
};

}  // namespace kiln::server
