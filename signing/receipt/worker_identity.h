// The identity of a worker: its certificate and key, loaded together. The part of signing/ that a worker
// sees.
#pragma once

#include <string>

#include "signing/receipt/receipt.h"

namespace kiln::signing {

// Thread safe.
class WorkerIdentity {
 public:
  // kInvalidArgument if the key is not the certificate's; errors of PrivateKey::load and Certificate::fromPem
  // otherwise.
  static Result<WorkerIdentity> load(const std::string& certificatePath, const std::string& keyPath);

  std::string name() const { return certificate_.commonName(); }
  std::string operatorName() const { return certificate_.organisation(); }
  std::string certificatePem() const { return certificate_.pem(); }

  // makeReceipt with worker and operator filled in from the certificate.
  Result<std::string> sign(Receipt receipt) const;

 private:
  WorkerIdentity(PrivateKey key, Certificate certificate)
      : key_(std::move(key)), certificate_(std::move(certificate)) {}

  PrivateKey key_;
  Certificate certificate_;
};

}  // namespace kiln::signing
