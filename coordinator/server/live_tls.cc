#include "coordinator/server/live_tls.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <grpcpp/security/tls_certificate_provider.h>
#include <grpcpp/security/tls_credentials_options.h>

#include "signing/keys/files.h"

namespace kiln::server {
namespace {

constexpr std::size_t kMaxPemBytes = 1 << 20;
constexpr unsigned kLookEverySeconds = 1;

Result<std::string> readPem(const char* flag, const std::string& path) {
  auto text = signing::readTextFile(path, kMaxPemBytes);
  if (!text) return fail(text.error().in(flag));
  return text;
}

Result<gateway::TlsSettings> readSettings(const Options& options, const std::string& workerAuthority,
                                          bool tokens) {
  gateway::TlsSettings out;
  KILN_ASSIGN(out.certificate, readPem("--tls-cert", options.tlsCertificate));
  auto key = signing::readSecretFile(options.tlsKey, kMaxPemBytes);
  if (!key) return fail(key.error().in("--tls-key"));
  out.key = std::move(*key);
  KILN_ASSIGN(std::string clients, readPem("--tls-client-ca", options.tlsClientCa));
  out.clientAuthorities = {std::move(clients), workerAuthority};
  out.certificateWanted = !tokens && !options.publicLog;
  return out;
}

std::string identityOf(const gateway::TlsSettings& settings) {
  return settings.certificate + "\n" + settings.key;
}

std::string authoritiesOf(const gateway::TlsSettings& settings) {
  return fmt::format("{}", fmt::join(settings.clientAuthorities, "\n"));
}

std::shared_ptr<grpc::ServerCredentials> watching(const MemoryFile& identity, const MemoryFile& authorities,
                                                  grpc_ssl_client_certificate_request_type clients) {
  namespace tls = grpc::experimental;
  tls::TlsServerCredentialsOptions options(std::make_shared<tls::FileWatcherCertificateProvider>(
      identity.path(), identity.path(), authorities.path(), kLookEverySeconds));
  options.watch_root_certs();
  options.watch_identity_key_cert_pairs();
  options.set_cert_request_type(clients);
  return tls::TlsServerCredentials(options);
}

}  // namespace

LiveTls::LiveTls(const Options& options, std::string workerAuthority, bool tokens,
                 std::shared_ptr<gateway::ServerTls> https, MemoryFile identity, MemoryFile authorities)
    : options_(options),
      workerAuthority_(std::move(workerAuthority)),
      tokens_(tokens),
      https_(std::move(https)),
      identity_(std::move(identity)),
      authorities_(std::move(authorities)),
      grpc_(watching(identity_, authorities_, GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY)),
      tokenGrpc_(watching(identity_, authorities_, GRPC_SSL_DONT_REQUEST_CLIENT_CERTIFICATE)) {}

Result<std::unique_ptr<LiveTls>> LiveTls::open(const Options& options,
                                               const signing::Certificate& workerAuthority, bool tokens) {
  std::string workers = workerAuthority.pem();
  KILN_ASSIGN(const auto settings, readSettings(options, workers, tokens));
  auto https = gateway::ServerTls::create(settings);
  if (!https) return fail(https.error().in("TLS"));
  KILN_ASSIGN(auto identity, MemoryFile::create(identityOf(settings)));
  KILN_ASSIGN(auto authorities, MemoryFile::create(authoritiesOf(settings)));
  return std::unique_ptr<LiveTls>(new LiveTls(options, std::move(workers), tokens, std::move(*https),
                                              std::move(identity), std::move(authorities)));
}

Status LiveTls::reload() {
  KILN_ASSIGN(const auto settings, readSettings(options_, workerAuthority_, tokens_));
  // It refuses what cannot be used, so gRPC is never shown such.
  KILN_TRY(https_->replace(settings));
  KILN_TRY(identity_.replace(identityOf(settings)));
  return authorities_.replace(authoritiesOf(settings));
}

}  // namespace kiln::server
