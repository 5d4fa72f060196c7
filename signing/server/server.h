// The signer's gRPC server: SignerService on a Unix socket, health and reflection.
#pragma once

#include <memory>
#include <string>

#include "signing/client/signer_client.h"
#include "storage/tracing/span.h"

namespace kiln::signing {

class SignerServer {
 public:
  // Listens on `address` ("unix:/path"), the socket being reachable for this user only. kInvalidArgument for
  // any other kind of address, kUnavailable if it cannot be bound. `signer` must outlive the server.
  // What is signed for a traced job leaves a span with `spans`, which may be null and else outlives the
  // server too.
  static Result<std::unique_ptr<SignerServer>> start(const std::string& address, Signer& signer,
                                                     tracing::SpanSink* spans = nullptr);
  virtual ~SignerServer() = default;
  // Ends calls in progress within a few seconds.
  virtual void stop() = 0;
};

}  // namespace kiln::signing
