// Where a worker speaks from.
#pragma once

#include <string>
#include <string_view>

namespace kiln::service {

// The place in gRPC's name of a caller: its address without the port, "local" for this machine's own
// addresses and sockets. Calls of one process come from one place; a proxy in between is the place of all.
std::string placeOf(std::string_view peer);

}  // namespace kiln::service
