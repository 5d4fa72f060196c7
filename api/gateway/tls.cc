#include "api/gateway/tls.h"

#include <boost/asio/buffer.hpp>
#include <boost/asio/ssl/context.hpp>

namespace kiln::gateway {
namespace {

namespace asio = boost::asio;
using asio::ssl::context;

tl::unexpected<Error> bad(const char* what, const boost::system::error_code& error) {
  return fail(Code::kInvalidArgument, std::string(what) + ": " + error.message());
}

Result<std::shared_ptr<context>> makeContext(const TlsSettings& settings) {
  auto out = std::make_shared<context>(context::tls_server);
  SSL_CTX* raw = out->native_handle();
  // No resumption: who calls is proven anew for each connection.
  SSL_CTX_set_min_proto_version(raw, TLS1_3_VERSION);
  SSL_CTX_set_session_cache_mode(raw, SSL_SESS_CACHE_OFF);
  SSL_CTX_set_options(raw, SSL_OP_NO_TICKET | SSL_OP_NO_RENEGOTIATION);
  SSL_CTX_set_num_tickets(raw, 0);
  boost::system::error_code error;
  out->use_certificate_chain(asio::buffer(settings.certificate), error);
  if (error) return bad("certificate", error);
  out->use_private_key(asio::buffer(settings.key), context::pem, error);
  if (error) return bad("private key, which must be that of the certificate", error);
  for (const std::string& authorities : settings.clientAuthorities) {
    out->add_certificate_authority(asio::buffer(authorities), error);
    if (error) return bad("authorities of clients", error);
  }
  out->set_verify_mode(settings.certificateWanted
                           ? asio::ssl::verify_peer | asio::ssl::verify_fail_if_no_peer_cert
                           : asio::ssl::verify_peer);
  return out;
}

}  // namespace

Result<std::shared_ptr<ServerTls>> ServerTls::create(const TlsSettings& settings) {
  KILN_ASSIGN(auto made, makeContext(settings));
  return std::shared_ptr<ServerTls>(new ServerTls(std::move(made)));
}

Status ServerTls::replace(const TlsSettings& settings) {
  KILN_ASSIGN(auto made, makeContext(settings));
  const MutexLock lock(mutex_);
  context_ = std::move(made);
  return {};
}

std::shared_ptr<context> ServerTls::context() const {
  const MutexLock lock(mutex_);
  return context_;
}

}  // namespace kiln::gateway
