#include "signing/receipt/worker_identity.h"

#include "signing/keys/files.h"

namespace kiln::signing {

Result<WorkerIdentity> WorkerIdentity::load(const std::string& certificatePath, const std::string& keyPath) {
  KILN_ASSIGN(std::string pem, readTextFile(certificatePath, 64 << 10));
  auto certificate = Certificate::fromPem(pem);
  if (!certificate) return fail(certificate.error().in(certificatePath));
  KILN_ASSIGN(PrivateKey key, PrivateKey::load(keyPath));
  if (key.publicKey().der() != certificate->publicKey().der())
    return fail(Code::kInvalidArgument, keyPath + " is not the key of " + certificatePath);
  return WorkerIdentity(std::move(key), std::move(*certificate));
}

Result<std::string> WorkerIdentity::sign(Receipt receipt) const {
  receipt.worker = name();
  receipt.operatorName = operatorName();
  return makeReceipt(receipt, key_);
}

}  // namespace kiln::signing
