// What signs a model: a private key on P-256, P-384 or P-521, and the certificates that say whose it is,
// where there are any. Source: OpenSSF Model Signing 1.0, section 8 and algorithm registry.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "manifest/json/json.h"
#include "signing/model/model_key.h"
#include "signing/x509/certificate.h"

namespace kiln::signing {

// Thread safe.
class ModelSigner {
 public:
  // A key that Kiln signs artifacts with, in a file or in a token.
  ModelSigner(PrivateKey key);
  // A PEM file as PrivateKey::load takes it, with a key on any of the three curves.
  static Result<ModelSigner> load(const std::string& path);

  // The same with certificates, the signer's first and then those of intermediate authorities; a verifier has
  // the root. kInvalidArgument if the first is of another key; kDataLoss if it is not for signing code.
  Result<ModelSigner> with(std::vector<X509Certificate> certificates) const;

  const ModelKey& publicKey() const { return public_; }
  const std::vector<X509Certificate>& certificates() const { return certificates_; }
  // ASN.1 DER, over the hash of the curve's size. As PrivateKey::sign.
  Result<std::string> sign(Bytes message) const;
  // What a bundle says of the signer.
  Json material() const;

 private:
  ModelSigner(std::shared_ptr<const KeyHandle> key, ModelKey publicKey)
      : wide_(std::move(key)), public_(std::move(publicKey)) {}

  std::shared_ptr<const PrivateKey> key_;  // one of these two: on P-256,
  std::shared_ptr<const KeyHandle> wide_;  // or on any curve, in this process
  ModelKey public_;
  std::vector<X509Certificate> certificates_;
};

}  // namespace kiln::signing
