// Ed25519 keys (RFC 8032), which logs and witnesses sign with. OpenSSL 3 does the cryptography.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "manifest/base/digest.h"
#include "manifest/base/result.h"

namespace kiln::signing {

struct KeyHandle;  // owns an EVP_PKEY; immutable, so it is shared between copies and threads

// Thread safe.
class Ed25519PublicKey {
 public:
  // kInvalidArgument unless it is 32 bytes.
  static Result<Ed25519PublicKey> fromRaw(std::string_view raw);

  // A SubjectPublicKeyInfo in its one form. kInvalidArgument for anything else.
  static Result<Ed25519PublicKey> fromDer(std::string_view spki);

  std::string raw() const;
  std::string der() const;  // SubjectPublicKeyInfo

  // kDataLoss if `signature` was not made by this key over `message`.
  Status verify(Bytes message, Bytes signature) const;

  explicit Ed25519PublicKey(std::shared_ptr<const KeyHandle> key) : key_(std::move(key)) {}

 private:
  std::shared_ptr<const KeyHandle> key_;
};

// Thread safe.
class Ed25519PrivateKey {
 public:
  static Result<Ed25519PrivateKey> create();
  // A PKCS#8 PEM file; as PrivateKey::load and save.
  static Result<Ed25519PrivateKey> load(const std::string& path);
  Status save(const std::string& path) const;

  Ed25519PublicKey publicKey() const { return Ed25519PublicKey(key_); }
  // 64 bytes; the same for the same message.
  Result<std::string> sign(Bytes message) const;

 private:
  explicit Ed25519PrivateKey(std::shared_ptr<const KeyHandle> key) : key_(std::move(key)) {}

  std::shared_ptr<const KeyHandle> key_;
};

}  // namespace kiln::signing
