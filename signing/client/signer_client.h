// The coordinator's client of kiln-signer.
#pragma once

#include <chrono>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "manifest/base/result.h"

namespace kiln::signing {

struct SignRequest {
  std::string instance;
  std::string statement;          // canonical JSON, such as provenanceStatement()
  std::uint64_t subjectSize = 0;  // of the blob that the statement is about: an OCI manifest, a Directory
  // receiptDocument() of each builder named in the provenance; of a verification summary, the policy in
  // canonical JSON
  std::vector<std::string> receipts;
  // W3C traceparent of what asks, or "". Beside the statement, never in it: what is signed does not depend on
  // it.
  std::string trace = {};
};

// Thread safe.
class Signer {
 public:
  virtual ~Signer() = default;
  // The Sigstore bundle, JSON. The same statement again gives the same bytes. kInvalidArgument for a
  // statement that is not well formed, kFailedPrecondition if a blob or receipt is missing or wrong,
  // kUnavailable or kDeadlineExceeded if the signer does not answer: try again, nothing is signed twice.
  virtual Result<std::string> sign(const SignRequest& request) = 0;
  // The same for several, in their order; those before the first that failed are signed. A signer that waits
  // for the log waits once for all of them.
  virtual Result<std::vector<std::string>> signAll(std::span<const SignRequest> requests);
  // The signer's public key, PEM.
  virtual Result<std::string> publicKeyPem() = 0;
};

// Over gRPC. `address` is "unix:/path/to/socket". Connects on first use and reconnects by itself.
std::unique_ptr<Signer> connectSigner(const std::string& address,
                                      std::chrono::milliseconds timeout = std::chrono::seconds(60));

}  // namespace kiln::signing
