// The signer's gRPC server: SignerService on a Unix socket, health and reflection.
#pragma once

#include <memory>
#include <string>

#include "signing/client/signer_client.h"

namespace kiln::signing {

class SignerServer {
 public:
  // Listens on `address` ("unix:/path"), the socket being reachable for this user only. kInvalidArgument for
  // any other kind of address, kUnavailable if it cannot be bound. `signer` must outlive the server.
  static Result<std::unique_ptr<SignerServer>> start(const std::string& address, Signer& signer);
  virtual ~SignerServer() = default;
  // Ends calls in progress within a few seconds.
  virtual void stop() = 0;
};

}  // namespace kiln::signing
