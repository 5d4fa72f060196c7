// The address that a worker calls from.
#pragma once

#include <string>
#include <string_view>

namespace kiln::service {

// From gRPC's name of a peer: its address without the port, "local" for this machine's own addresses and
// sockets. Calls of one process come from one address; behind a proxy all come from the proxy's.
std::string peerAddress(std::string_view peer);

}  // namespace kiln::service
