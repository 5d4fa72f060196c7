// Public keys that model signatures are checked with: elliptic curves of NIST, each with the hash of its
// size. Source: OpenSSF Model Signing, algorithm registry.
#pragma once

#include <openssl/types.h>

#include <memory>
#include <string>
#include <string_view>

#include "signing/keys/keys.h"

namespace kiln::signing {

// Thread safe.
class ModelKey {
 public:
  // One PEM block "PUBLIC KEY". kInvalidArgument for anything but a key on P-256, P-384 or P-521.
  static Result<ModelKey> fromPem(std::string_view pem);
  // A file as readTrustFile() takes it. Errors name the path.
  static Result<ModelKey> load(const std::string& path);

  // base64(sha256(SubjectPublicKeyInfo)), as PublicKey::id().
  const std::string& id() const { return id_; }
  const std::string& pem() const { return pem_; }
  // The hash of the curve's size, which OpenSSL owns.
  const EVP_MD* hash() const;
  // Whether this key made `signature`, ASN.1 DER, over `message`.
  bool verifies(Bytes message, Bytes signature) const;

 private:
  ModelKey() = default;

  std::shared_ptr<const KeyHandle> key_;
  std::string pem_, id_;
  int bits_ = 0;
};

// How a model signature's bundle names a key: hex(sha256(PEM)), where others write base64 of the DER's.
std::string modelKeyHint(std::string_view pem);

}  // namespace kiln::signing
