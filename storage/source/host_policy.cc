#include "storage/source/host_policy.h"

#include <arpa/inet.h>
#include <fmt/core.h>
#include <netdb.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>

namespace kiln::source {
namespace {

struct Range {
  const char* network;
  int bits;
};

// IANA's special-purpose registries (RFC 6890 and updates), and multicast.
constexpr Range kSpecial4[] = {
    {"0.0.0.0", 8},     {"10.0.0.0", 8},      {"100.64.0.0", 10},  {"127.0.0.0", 8},    {"169.254.0.0", 16},
    {"172.16.0.0", 12}, {"192.0.0.0", 24},    {"192.0.2.0", 24},   {"192.88.99.0", 24}, {"192.168.0.0", 16},
    {"198.18.0.0", 15}, {"198.51.100.0", 24}, {"203.0.113.0", 24}, {"224.0.0.0", 3}};
// Only global unicast (2000::/3) is public, without these; the rest, IPv4-mapped addresses included, is not.
constexpr Range kSpecial6[] = {{"2001::", 23}, {"2001:db8::", 32}, {"2002::", 16}, {"3fff::", 20}};

template <std::size_t N>
bool inRange(const std::array<std::uint8_t, N>& address, const std::array<std::uint8_t, N>& network,
             int bits) {
  for (int bit = 0; bit < bits; ++bit) {
    std::uint8_t mask = static_cast<std::uint8_t>(0x80 >> (bit % 8));
    if ((address[static_cast<std::size_t>(bit / 8)] ^ network[static_cast<std::size_t>(bit / 8)]) & mask)
      return false;
  }
  return true;
}

template <std::size_t N, class Ranges>
bool isSpecial(int family, const std::array<std::uint8_t, N>& address, const Ranges& ranges) {
  for (const Range& range : ranges) {
    std::array<std::uint8_t, N> network{};
    ::inet_pton(family, range.network, network.data());
    if (inRange(address, network, range.bits)) return true;
  }
  return false;
}

Status checkAddresses(const std::string& host) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* list = nullptr;
  if (int code = ::getaddrinfo(host.c_str(), nullptr, &hints, &list); code != 0)
    return fail(Code::kUnavailable, fmt::format("host '{}' was not found: {}", host, ::gai_strerror(code)));
  std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> owner(list, ::freeaddrinfo);
  for (const addrinfo* entry = list; entry; entry = entry->ai_next) {
    char text[NI_MAXHOST];
    if (::getnameinfo(entry->ai_addr, entry->ai_addrlen, text, sizeof text, nullptr, 0, NI_NUMERICHOST) !=
            0 ||
        !isPublicAddress(text))
      return fail(
          Code::kPermissionDenied,
          fmt::format(
              "host '{}' has an internal address; it can be fetched from only if it is named on the farm's "
              "allow-list",
              host));
  }
  return {};
}

// How an allow-list has it.
std::string entryOf(const GitUrl& url) {
  const std::string host = url.host.find(':') == std::string::npos ? url.host : "[" + url.host + "]";
  return url.port.empty() ? host : host + ":" + url.port;
}

}  // namespace

bool isPublicAddress(const std::string& address) {
  std::array<std::uint8_t, 4> four{};
  if (::inet_pton(AF_INET, address.c_str(), four.data()) == 1) return !isSpecial(AF_INET, four, kSpecial4);
  std::array<std::uint8_t, 16> six{};
  if (::inet_pton(AF_INET6, address.c_str(), six.data()) != 1) return false;
  return (six[0] & 0xe0) == 0x20 && !isSpecial(AF_INET6, six, kSpecial6);
}

bool isNamed(const GitUrl& url, const std::vector<std::string>& allowed) {
  return std::find(allowed.begin(), allowed.end(), entryOf(url)) != allowed.end();
}

Status checkHost(const GitUrl& url, const std::vector<std::string>& allowed) {
  if (isNamed(url, allowed)) return {};
  if (std::find(allowed.begin(), allowed.end(), "*") == allowed.end())
    return fail(
        Code::kPermissionDenied,
        fmt::format(
            "host '{}' is not on the farm's allow-list for git sources; ask its administrator, or give the "
            "model as a file",
            entryOf(url)));
  return checkAddresses(url.host);
}

}  // namespace kiln::source
