#include "coordinator/rpc/worker_address.h"

namespace kiln::service {

std::string peerAddress(std::string_view peer) {
  if (peer.starts_with("unix:") || peer.starts_with("unix-abstract:")) return "local";
  const bool ip = peer.starts_with("ipv4:") || peer.starts_with("ipv6:");
  if (!ip) return std::string(peer);
  peer.remove_prefix(5);
  std::string_view address = peer.substr(0, peer.rfind(':'));
  for (const std::string_view bracket : {"[", "%5B", "%5b"})
    if (address.starts_with(bracket)) address.remove_prefix(bracket.size());
  for (const std::string_view bracket : {"]", "%5D", "%5d"})
    if (address.ends_with(bracket)) address.remove_suffix(bracket.size());
  if (address == "::1" || address.starts_with("127.")) return "local";
  return std::string(address);
}

}  // namespace kiln::service
