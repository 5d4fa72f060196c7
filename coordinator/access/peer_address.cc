#include "coordinator/access/peer_address.h"

#include <arpa/inet.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>

namespace kiln::access {
namespace {

constexpr std::array<std::uint8_t, 12> kMapped{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};  // RFC 4291 2.5.5.2

std::string sourceOfV4(const std::uint8_t* bytes) {
  char text[INET_ADDRSTRLEN] = {};
  if (bytes[0] == 127) return "";
  return ::inet_ntop(AF_INET, bytes, text, sizeof text) ? text : "";
}

}  // namespace

std::string sourceOfPeer(std::string_view peer) {
  if (peer.starts_with("ipv4:")) {
    peer.remove_prefix(5);
    std::array<std::uint8_t, 4> bytes{};
    const std::string host(peer.substr(0, peer.rfind(':')));
    return ::inet_pton(AF_INET, host.c_str(), bytes.data()) == 1 ? sourceOfV4(bytes.data()) : "";
  }
  if (!peer.starts_with("ipv6:")) return "";
  peer.remove_prefix(5);
  for (const std::string_view open : {"%5B", "["})
    if (peer.starts_with(open)) peer.remove_prefix(open.size());
  std::array<std::uint8_t, 16> bytes{};
  const std::string host(peer.substr(0, peer.find_first_of("%]")));  // a zone and the end begin alike
  if (::inet_pton(AF_INET6, host.c_str(), bytes.data()) != 1) return "";
  if (std::ranges::equal(kMapped, std::span(bytes).first<12>())) return sourceOfV4(bytes.data() + 12);
  if (std::all_of(bytes.begin(), bytes.end() - 1, [](std::uint8_t byte) { return byte == 0; })) return "";
  std::fill(bytes.begin() + 8, bytes.end(), std::uint8_t{0});
  char text[INET6_ADDRSTRLEN] = {};
  return ::inet_ntop(AF_INET6, bytes.data(), text, sizeof text) ? std::string(text) + "/64" : "";
}

}  // namespace kiln::access
