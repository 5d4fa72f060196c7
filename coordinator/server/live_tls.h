// The certificates that a coordinator shows and trusts within TLS, for gRPC and HTTP alike; its files can be
// read again while it runs.
#pragma once

#include <grpcpp/security/server_credentials.h>

#include <memory>

#include "api/gateway/tls.h"
#include "coordinator/server/memory_file.h"
#include "coordinator/server/options.h"
#include "signing/keys/certificate.h"

namespace kiln::server {

// Not thread safe; what it hands out is.
class LiveTls {
 public:
  // Reads --tls-cert, --tls-key and --tls-client-ca. Clients show a certificate that one of these authorities
  // or `workerAuthority` issued; those of HTTP may come without one if `tokens` or if the log is public,
  // those of gRPC at --token-listen alone, where none is asked for. Errors name the flag. The worker
  // authority is the one that the gate tells workers by, for good: what another had issued, the gate would
  // take for a person's.
  static Result<std::unique_ptr<LiveTls>> open(const Options& options,
                                               const signing::Certificate& workerAuthority, bool tokens);

  // Reads the files again, for connections from now on (gRPC: within a second or two). On an error everything
  // stays as it was.
  Status reload();

  const std::shared_ptr<grpc::ServerCredentials>& grpcCredentials() const { return grpc_; }
  const std::shared_ptr<grpc::ServerCredentials>& tokenCredentials() const { return tokenGrpc_; }
  const std::shared_ptr<gateway::ServerTls>& https() const { return https_; }

 private:
  LiveTls(const Options& options, std::string workerAuthority, bool tokens,
          std::shared_ptr<gateway::ServerTls> https, MemoryFile identity, MemoryFile authorities);

  const Options options_;
  const std::string workerAuthority_;  // PEM
  const bool tokens_;
  std::shared_ptr<gateway::ServerTls> https_;
  // gRPC looks into these each second: one for certificate and key, so that they change together.
  MemoryFile identity_, authorities_;
  std::shared_ptr<grpc::ServerCredentials> grpc_, tokenGrpc_;
};

}  // namespace kiln::server
