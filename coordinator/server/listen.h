// The endpoints of a coordinator.
#pragma once

#include <grpcpp/server.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "coordinator/server/call_watch.h"
#include "coordinator/server/live_tls.h"
#include "coordinator/server/options.h"

namespace kiln::server {

struct Listener {
  std::unique_ptr<grpc::Server> server;
  std::vector<std::string> addresses;  // with the ports that were taken: of --listen, then of --token-listen
};

// In all; each call holds one while it waits.
inline constexpr int kMaxThreads = 2048;

// What a connection may take, and when it is asked whether it lives: arguments of a channel, by name.
std::vector<std::pair<const char*, int>> connectionArguments();

// Serves on every endpoint of the options: Unix sockets that only this user can open; elsewhere with `tls`,
// which may be null if there are no others. `services` and `calls`, which watches all calls, must outlive the
// server. What one caller may take of memory, threads, streams and time is limited (coordinator/LIMITS.md).
Result<Listener> listen(const Options& options, const LiveTls* tls,
                        const std::vector<grpc::Service*>& services, CallWatch& calls);

// Serves `services` in plaintext at `address`, on loopback. A port that anybody on this machine may call: the
// services ask nobody who he is (access::Gate::ofLoopback). Limits as above.
Result<Listener> listenOnLoopback(const std::string& address, const std::vector<grpc::Service*>& services,
                                  CallWatch& calls);

// Serves `services` within this process alone, by InProcessChannel(): it listens nowhere, so that what a call
// says of itself is believed (access/relayed_caller.h). Limits as above.
std::unique_ptr<grpc::Server> serveInProcess(const std::vector<grpc::Service*>& services, CallWatch& calls);

}  // namespace kiln::server
