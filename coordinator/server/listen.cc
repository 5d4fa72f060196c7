#include "coordinator/server/listen.h"

#include <grpcpp/ext/proto_server_reflection_plugin.h>
#include <grpcpp/grpcpp.h>
#include <grpcpp/health_check_service_interface.h>
#include <sys/stat.h>

#include "signing/keys/files.h"
#include "storage/remote/wire_limits.h"

namespace kiln::server {
namespace {

constexpr std::size_t kMaxPemBytes = 1 << 20;

Result<std::string> readPem(const char* flag, const std::string& path) {
  auto text = signing::readTextFile(path, kMaxPemBytes);
  if (!text) return fail(text.error().in(flag));
  return text;
}

Result<std::shared_ptr<grpc::ServerCredentials>> tlsCredentials(const Options& options, bool tokens) {
  grpc::SslServerCredentialsOptions tls(tokens ? GRPC_SSL_REQUEST_CLIENT_CERTIFICATE_AND_VERIFY
                                               : GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY);
  grpc::SslServerCredentialsOptions::PemKeyCertPair pair;
  KILN_ASSIGN(pair.cert_chain, readPem("--tls-cert", options.tlsCertificate));
  auto key = signing::readSecretFile(options.tlsKey, kMaxPemBytes);
  if (!key) return fail(key.error().in("--tls-key"));
  pair.private_key = std::move(*key);
  tls.pem_key_cert_pairs.push_back(std::move(pair));
  KILN_ASSIGN(const std::string clients, readPem("--tls-client-ca", options.tlsClientCa));
  KILN_ASSIGN(const std::string workers, readPem("--worker-ca", options.workerCa));
  tls.pem_root_certs = clients + "\n" + workers;
  return grpc::SslServerCredentials(tls);
}

}  // namespace

Result<Listener> listen(const Options& options, bool tokens, const std::vector<grpc::Service*>& services) {
  grpc::EnableDefaultHealthCheckService(true);
  grpc::reflection::InitProtoReflectionServerBuilderPlugin();
  grpc::ServerBuilder builder;
  // Two coordinators on one port would each get some of the calls.
  builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
  builder.SetMaxReceiveMessageSize(storage::kMaxServerMessageBytes);
  std::vector<int> ports(options.listen.size(), 0);
  for (std::size_t i = 0; i < options.listen.size(); ++i) {
    const std::string& endpoint = options.listen[i];
    std::shared_ptr<grpc::ServerCredentials> credentials = grpc::InsecureServerCredentials();
    if (!isSocket(endpoint)) {
      KILN_ASSIGN(credentials, tlsCredentials(options, tokens));
    }
    builder.AddListeningPort(endpoint, std::move(credentials), &ports[i]);
  }
  for (grpc::Service* service : services) builder.RegisterService(service);
  const mode_t before = ::umask(0177);
  Listener out{builder.BuildAndStart(), {}};
  ::umask(before);
  std::string all;
  for (std::size_t i = 0; i < options.listen.size(); ++i) {
    const std::string& endpoint = options.listen[i];
    all += (all.empty() ? "" : " ") + endpoint;
    if (isSocket(endpoint)) {
      out.addresses.push_back(endpoint);
      continue;
    }
    KILN_ASSIGN(const HostPort address, parseHostPort(endpoint));
    out.addresses.push_back(address.host + ":" + std::to_string(ports[i]));
  }
  if (!out.server)
    return fail(Code::kUnavailable,
                "--listen: cannot listen on " + all +
                    "; an address is taken, or --tls-cert and --tls-key do not belong together");
  return out;
}

}  // namespace kiln::server
