#include "api/relay/farm_side.h"

#include <boost/asio/ip/address.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http.hpp>

namespace kiln::relay {
namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
namespace ssl = asio::ssl;
using asio::ip::tcp;

namespace {

constexpr std::uint32_t kMaxProbeBytes = 16 << 10;

// Has the handshake hold the certificate against `host` (RFC 9525), and a name be told to the server (RFC
// 6066 3).
bool expectHost(SSL* tls, const std::string& host) {
  beast::error_code error;
  asio::ip::make_address(host, error);
  if (!error) return X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(tls), host.c_str()) == 1;
  return SSL_set1_host(tls, host.c_str()) == 1 && SSL_set_tlsext_host_name(tls, host.c_str()) == 1;
}

std::string placeOf(const HttpsSide& side) {
  return "https://" + authorityOf(side);
}

tl::unexpected<Error> bad(const char* what, const beast::error_code& error) {
  return fail(Code::kInvalidArgument, std::string(what) + ": " + error.message());
}

}  // namespace

Result<ssl::context> tlsOf(const HttpsSide& side) {
  ssl::context out(ssl::context::tls_client);
  SSL_CTX_set_min_proto_version(out.native_handle(), TLS1_3_VERSION);
  out.set_verify_mode(ssl::verify_peer);
  beast::error_code error;
  out.add_certificate_authority(asio::buffer(side.authorities), error);
  if (error) return bad("--tls-ca", error);
  if (side.certificate.empty()) return out;
  out.use_certificate_chain(asio::buffer(side.certificate), error);
  if (error) return bad("--tls-cert", error);
  out.use_private_key(asio::buffer(side.key), ssl::context::pem, error);
  if (error) return bad("--tls-key, which must be that of --tls-cert", error);
  return out;
}

std::string authorityOf(const FarmSide& side) {
  const auto* https = std::get_if<HttpsSide>(&side);
  if (https == nullptr) return "localhost";
  const bool brackets = https->host.find(':') != std::string::npos;
  return (brackets ? "[" + https->host + "]" : https->host) + ":" + std::to_string(https->port);
}

Status connectTo(const SocketSide& side, Steps& steps, SocketStream& stream,
                 std::chrono::milliseconds limit) {
  stream.expires_after(limit);
  const asio::local::stream_protocol::endpoint place(side.path);
  if (steps.await([&](auto done) { stream.async_connect(place, done); }))
    return fail(Code::kUnavailable, "the farm does not answer");
  return {};
}

Status connectTo(const HttpsSide& side, Steps& steps, TlsStream& stream, std::chrono::milliseconds limit) {
  const auto unavailable = [&](const beast::error_code& error) {
    return fail(Code::kUnavailable, placeOf(side) + " does not answer: " + error.message());
  };
  tcp::resolver resolver(steps.context());
  tcp::resolver::results_type places;
  const auto resolved = steps.await([&](auto done) {
    resolver.async_resolve(side.host, std::to_string(side.port),
                           [&places, done](const auto& error, auto found) mutable {
                             places = std::move(found);
                             done(error);
                           });
  });
  if (resolved) return unavailable(resolved);
  auto& lowest = beast::get_lowest_layer(stream);
  lowest.expires_after(limit);
  if (const auto error = steps.await([&](auto done) { lowest.async_connect(places, done); }))
    return unavailable(error);
  if (!expectHost(stream.native_handle(), side.host))
    return fail(Code::kInvalidArgument, placeOf(side) + ": is no name or address of a host");
  const auto shaken = steps.await([&](auto done) { stream.async_handshake(ssl::stream_base::client, done); });
  if (!shaken) return {};
  if (const long result = SSL_get_verify_result(stream.native_handle()); result != X509_V_OK)
    return fail(Code::kUnauthenticated, "the certificate of " + placeOf(side) +
                                            " does not hold: " + X509_verify_cert_error_string(result) +
                                            "; --tls-ca names whose certificates the farm shows");
  return unavailable(shaken);
}

Status probe(const HttpsSide& side, std::chrono::milliseconds limit) {
  KILN_ASSIGN(ssl::context tls, tlsOf(side));
  asio::io_context context(1);
  Steps steps(context);
  TlsStream stream(context, tls);
  KILN_TRY(connectTo(side, steps, stream, limit));
  http::request<http::empty_body> asked(http::verb::get, "/log/checkpoint", 11);
  asked.set(http::field::host, authorityOf(side));
  asked.set(http::field::connection, "close");
  if (side.token) {
    KILN_ASSIGN(const std::string token, side.token());
    asked.set(http::field::authorization, "Bearer " + token);
  }
  http::response_parser<http::string_body> parser;
  parser.header_limit(kMaxProbeBytes);
  parser.body_limit(kMaxProbeBytes);
  beast::flat_buffer buffer(2 * kMaxProbeBytes);
  auto error = steps.await([&](auto done) { http::async_write(stream, asked, done); });
  if (!error) error = steps.await([&](auto done) { http::async_read_header(stream, buffer, parser, done); });
  const unsigned status = error ? 0 : parser.get().result_int();
  // With TLS 1.3 a server says of the client's certificate only after the handshake that it does not take it.
  const bool refusedByTls = error && error.category() == asio::error::get_ssl_category();
  if (refusedByTls || status == 401 || status == 403)
    return fail(Code::kPermissionDenied, placeOf(side) + " does not let this client in" +
                                             (refusedByTls ? ": " + error.message() : "") +
                                             "; --tls-cert with --tls-key, or --token-file, says who asks");
  if (error)
    return fail(Code::kUnavailable, placeOf(side) + " does not answer as HTTP does: " + error.message());
  return {};
}

}  // namespace kiln::relay
