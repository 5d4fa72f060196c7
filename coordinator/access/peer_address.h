// Which machine a call came from, for sharing and for nothing else: it proves nothing.
#pragma once

#include <string>
#include <string_view>

namespace kiln::access {

// Of what gRPC calls a peer ("ipv4:192.0.2.1:5000", "ipv6:%5B2001:db8::1%5D:5000"): the IPv4 address, or the
// /64 prefix of the IPv6 address, all of which one machine can have. "" for a Unix socket and for loopback,
// where a proxy stands for all of its clients.
std::string sourceOfPeer(std::string_view peer);

}  // namespace kiln::access
