// The endpoints of a coordinator.
#pragma once

#include <grpcpp/server.h>

#include <memory>
#include <string>
#include <vector>

#include "coordinator/server/options.h"

namespace kiln::server {

struct Listener {
  std::unique_ptr<grpc::Server> server;
  std::vector<std::string> addresses;  // with the ports that were taken
};

// Serves on every endpoint of the options: Unix sockets that only this user can open; elsewhere TLS 1.2 or
// later with a client certificate that --tls-client-ca or --worker-ca issued. With `tokens` a client may do
// without one, and then has to send a token with each call. `services` must outlive the server.
Result<Listener> listen(const Options& options, bool tokens, const std::vector<grpc::Service*>& services);

}  // namespace kiln::server
