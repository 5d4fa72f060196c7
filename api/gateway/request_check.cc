#include "api/gateway/request_check.h"

#include <algorithm>
#include <boost/asio/ip/address.hpp>
#include <boost/beast/core/string.hpp>
#include <cctype>

#include "manifest/base/glob.h"

namespace kiln::gateway {
namespace http = boost::beast::http;

namespace {

std::string_view text(boost::beast::string_view value) {
  return {value.data(), value.size()};
}

bool equalNames(std::string_view one, std::string_view other) {
  return boost::beast::iequals({one.data(), one.size()}, {other.data(), other.size()});
}

// RFC 3986 3.2.2: reg-name.
bool isNameCharacter(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) ||
         std::string_view("-._~!$&'()*+,;=%").find(c) != std::string::npos;
}

bool isPort(std::string_view port) {
  return port.size() <= 5 && std::ranges::all_of(port, [](char c) { return c >= '0' && c <= '9'; });
}

// Of an absolute target what stands between "//" and the path; nothing of another form.
std::optional<std::string_view> authorityOf(std::string_view target) {
  for (const std::string_view scheme : {"http://", "https://"})
    if (equalNames(target.substr(0, scheme.size()), scheme)) {
      target.remove_prefix(scheme.size());
      return target.substr(0, target.find_first_of("/?#"));
    }
  return std::nullopt;
}

bool isLoopback(std::string host) {
  if (host == "localhost") return true;
  if (host.starts_with('[')) host = host.substr(1, host.size() - 2);
  boost::system::error_code error;
  const auto address = boost::asio::ip::make_address(host, error);
  return !error && address.is_loopback();
}

HttpError malformed(std::string_view what) {
  return httpError(400, "UNSUPPORTED", what);
}

// Where a request's body ends must be seen alike by whoever stands before this server (RFC 9112 6.1, 6.3).
std::optional<HttpError> refusalOfBody(const RequestHeader& request) {
  if (request.count(http::field::transfer_encoding) == 0) return std::nullopt;
  if (request.version() < 11) return malformed("HTTP/1.0 has no Transfer-Encoding");
  if (!equalNames(listOf(request, http::field::transfer_encoding), "chunked"))
    return malformed("the only Transfer-Encoding served is chunked");
  return std::nullopt;
}

}  // namespace

std::optional<std::string> hostIn(std::string_view authority) {
  std::string_view host = authority, port;
  if (authority.starts_with('[')) {
    host = authority.substr(0, authority.find(']') + 1);
    boost::system::error_code error;
    if (host.size() < 2) return std::nullopt;
    boost::asio::ip::make_address_v6(std::string(host.substr(1, host.size() - 2)), error);
    if (error) return std::nullopt;
  } else {
    host = authority.substr(0, authority.find(':'));
    if (!std::ranges::all_of(host, isNameCharacter)) return std::nullopt;
  }
  port = authority.substr(host.size());
  if (host.empty() || (!port.empty() && (port[0] != ':' || !isPort(port.substr(1))))) return std::nullopt;
  return lower(host);
}

bool keepsConnection(const http::request<http::string_body>& request) {
  return request.version() >= 11 && request.keep_alive();
}

bool isOfAnotherSite(const RequestHeader& request) {
  const auto [first, last] = request.equal_range("Sec-Fetch-Site");
  return std::any_of(first, last,
                     [](const auto& one) { return one.value() != "same-origin" && one.value() != "none"; });
}

std::string originForm(std::string_view target) {
  const auto authority = authorityOf(target);
  if (!authority) return std::string(target);
  const auto path =
      target.substr(static_cast<std::size_t>(authority->data() - target.data()) + authority->size());
  return (path.starts_with('/') ? "" : "/") + std::string(path);
}

std::string listOf(const RequestHeader& request, http::field name) {
  std::string out;
  const auto [first, last] = request.equal_range(name);
  for (auto at = first; at != last; ++at) out += (out.empty() ? "" : ", ") + std::string(text(at->value()));
  return out;
}

bool waitsForLeave(const RequestHeader& request) {
  return request.version() >= 11 && equalNames(listOf(request, http::field::expect), "100-continue");
}

std::optional<HttpError> refusalOf(const RequestHeader& request, Names names, bool isUpload) {
  const auto hosts = request.count(http::field::host);
  if (hosts > 1) return malformed("the request has more than one Host");
  if (hosts == 0 && request.version() >= 11) return malformed("the request has no Host");
  std::optional<std::string> host;
  if (hosts == 1 && !(host = hostIn(text(request[http::field::host])))) return malformed("Host is no host");
  if (const auto authority = authorityOf(text(request.target())); authority && !(host = hostIn(*authority)))
    return malformed("the request's target names no host");
  if (const auto body = refusalOfBody(request)) return body;
  if (names == Names::kLoopback && host && !isLoopback(*host))
    return httpError(
        421, "UNSUPPORTED",
        "plain HTTP is for this machine alone: ask for localhost, 127.0.0.1 or [::1]; a proxy sets "
        "Host to one of them");
  if (request.version() >= 11 && request.count(http::field::expect) != 0 &&
      !(isUpload && waitsForLeave(request)))
    return httpError(417, "UNSUPPORTED", "this side takes no body: send none, and expect nothing");
  return std::nullopt;
}

}  // namespace kiln::gateway
