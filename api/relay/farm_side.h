// The farm's HTTP side, as the relay reaches it: the private socket of a farm on this machine, or what the
// coordinator's --https serves, from anywhere, within TLS 1.3 (RFC 8446).
#pragma once

#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/beast/core/basic_stream.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/ssl/ssl_stream.hpp>
#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <variant>

#include "api/relay/steps.h"
#include "manifest/base/result.h"

namespace kiln::relay {

struct SocketSide {
  std::string path;
};

struct HttpsSide {
  std::string host;  // a name or an address; an IPv6 address without brackets
  std::uint16_t port = 443;
  std::string authorities;       // PEM: whose certificates the farm may show
  std::string certificate, key;  // PEM: what this client shows; both "" where a token alone does
  // The caller's token, read again for each request since such tokens are short-lived. None: certificates
  // alone. Called on any thread.
  std::function<Result<std::string>()> token;
};

using FarmSide = std::variant<SocketSide, HttpsSide>;

using SocketStream =
    boost::beast::basic_stream<boost::asio::local::stream_protocol, boost::asio::any_io_executor>;
using TlsStream = boost::beast::ssl_stream<boost::beast::tcp_stream>;

// kInvalidArgument naming what of the side's PEM texts cannot be used.
Result<boost::asio::ssl::context> tlsOf(const HttpsSide& side);

// What a request says of where it goes: the field Host.
std::string authorityOf(const FarmSide& side);

// Connects within `limit`; errors say in words for a user what the farm is not, or what of its certificate
// does not hold. kUnavailable; kUnauthenticated where the certificate is not of `authorities` or not of that
// host.
Status connectTo(const SocketSide& side, Steps& steps, SocketStream& stream, std::chrono::milliseconds limit);
Status connectTo(const HttpsSide& side, Steps& steps, TlsStream& stream, std::chrono::milliseconds limit);

// Whether a farm answers there and lets this client in, by one read. Errors as those of connectTo(), and
// kPermissionDenied where the farm refuses the client's certificate or token.
Status probe(const HttpsSide& side, std::chrono::milliseconds limit);

}  // namespace kiln::relay
