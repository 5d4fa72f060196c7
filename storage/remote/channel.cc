#include "storage/remote/channel.h"

#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "manifest/base/file.h"
#include "manifest/base/printable.h"
#include "storage/remote/status.h"

namespace kiln::storage {
namespace {

constexpr std::size_t kMaxFileBytes = 1 << 20;

// As PEM names them; keys of several kinds end so.
constexpr char kCertificate[] = "CERTIFICATE", kPrivateKey[] = "PRIVATE KEY";

enum class Secrecy { kPublic, kSecret };

Result<std::string> readFile(const std::string& path, Secrecy secrecy) {
  KILN_ASSIGN(const UniqueFd file, openRegular(path));
  struct stat status{};
  if (::fstat(file.get(), &status) != 0) return fail(errnoError(errno, path));
  if (secrecy == Secrecy::kSecret && (status.st_mode & 0077) != 0)
    return fail(Code::kPermissionDenied, path + ": others may read this secret; run chmod 600 on it");
  return readToEnd(file.get(), kMaxFileBytes, path);
}

// What gRPC could not read would only be a farm that is never reached.
Result<std::string> readPem(const std::string& path, const char* label, Secrecy secrecy = Secrecy::kPublic) {
  KILN_ASSIGN(std::string text, readFile(path, secrecy));
  if (text.find(label) == std::string::npos)
    return fail(Code::kInvalidArgument, path + ": holds no " + label + " in PEM");
  return text;
}

// The token of the file as it is now, so that a renewed one counts.
class TokenFromFile final : public grpc::MetadataCredentialsPlugin {
 public:
  explicit TokenFromFile(std::string path) : path_(std::move(path)) {}
  bool IsBlocking() const override { return true; }
  grpc::Status GetMetadata(grpc::string_ref, grpc::string_ref, const grpc::AuthContext&,
                           std::multimap<grpc::string, grpc::string>* metadata) override {
    auto token = readFile(path_, Secrecy::kSecret);
    if (!token) return toGrpc(token.error());
    while (!token->empty() && (token->back() == '\n' || token->back() == '\r')) token->pop_back();
    metadata->emplace("authorization", "Bearer " + *token);
    return grpc::Status::OK;
  }

 private:
  const std::string path_;
};

}  // namespace

bool isSocketEndpoint(const std::string& endpoint) {
  return endpoint.starts_with("unix:") && endpoint.size() > 5;
}

bool isNetworkEndpoint(const std::string& endpoint) {
  const auto colon = endpoint.rfind(':');
  return !endpoint.starts_with("unix:") && colon != std::string::npos && colon > 0 &&
         colon + 1 < endpoint.size() &&
         endpoint.find_first_not_of("0123456789", colon + 1) == std::string::npos &&
         endpoint.find_first_of("/,") == std::string::npos;
}

Status checkSocketPath(const std::string& endpoint) {
  constexpr std::size_t kMost = sizeof(sockaddr_un::sun_path) - 1;
  if (!isSocketEndpoint(endpoint) || endpoint.size() - 5 <= kMost) return {};
  return fail(Code::kInvalidArgument, printable(endpoint) + ": the path of a socket has at most " +
                                          std::to_string(kMost) + " bytes, this one " +
                                          std::to_string(endpoint.size() - 5));
}

Result<std::shared_ptr<grpc::ChannelCredentials>> channelCredentials(const std::string& endpoint,
                                                                     const ClientCredentials& files) {
  KILN_TRY(checkSocketPath(endpoint));
  if (isSocketEndpoint(endpoint)) return grpc::InsecureChannelCredentials();
  if (!isNetworkEndpoint(endpoint))
    return fail(Code::kInvalidArgument,
                inQuotes(endpoint) + " is no endpoint; give unix:/path/to/socket or host:port");
  if (files.ca.empty() || files.certificate.empty() != files.key.empty() ||
      (files.certificate.empty() && files.token.empty()))
    return fail(
        Code::kInvalidArgument,
        endpoint + " is reached through TLS: give --tls-ca, and --tls-cert with --tls-key or --token-file");
  return tlsCredentials(files);
}

Result<std::shared_ptr<grpc::ChannelCredentials>> tlsCredentials(const ClientCredentials& files) {
  grpc::SslCredentialsOptions tls;
  KILN_ASSIGN(tls.pem_root_certs, readPem(files.ca, kCertificate));
  if (!files.certificate.empty()) {
    KILN_ASSIGN(tls.pem_cert_chain, readPem(files.certificate, kCertificate));
    KILN_ASSIGN(tls.pem_private_key, readPem(files.key, kPrivateKey, Secrecy::kSecret));
  }
  auto channel = grpc::SslCredentials(tls);
  if (files.token.empty()) return channel;
  KILN_ASSIGN(const std::string token, readFile(files.token, Secrecy::kSecret));
  if (token.find_first_not_of("\r\n") == std::string::npos)
    return fail(Code::kInvalidArgument, files.token + ": is empty; it must hold a token");
  return grpc::CompositeChannelCredentials(
      channel, grpc::MetadataCredentialsFromPlugin(std::make_unique<TokenFromFile>(files.token)));
}

grpc::ChannelArguments channelArguments(const std::string& endpoint) {
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(16 << 20);
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 100);
  // What one attempt may take, despite the name. Where nobody waits for the channel, gRPC goes on with a
  // handshake each 5 s, and TLS and HTTP/2 take it three such steps.
  arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, 20'000);
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 1000);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, 30'000);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, 20'000);
  arguments.SetInt(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);  // a watch may be quiet for hours
  // A Unix socket needs no host name of its own; the authority would otherwise be the percent-encoded path.
  if (isSocketEndpoint(endpoint)) arguments.SetString(GRPC_ARG_DEFAULT_AUTHORITY, "localhost");
  return arguments;
}

}  // namespace kiln::storage
