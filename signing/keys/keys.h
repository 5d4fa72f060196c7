// ECDSA keys on P-256 with SHA-256; signatures are ASN.1 DER. OpenSSL 3 does the cryptography.
// A key's id is base64(sha256(SubjectPublicKeyInfo in DER)), the `hint` of a Sigstore bundle.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "manifest/base/digest.h"
#include "manifest/base/result.h"

namespace kiln::signing {

struct KeyHandle;  // owns an EVP_PKEY; immutable, so it is shared between copies and threads

// Thread safe.
class PublicKey {
 public:
  // kInvalidArgument for anything but a P-256 key.
  static Result<PublicKey> fromDer(std::string_view spki);
  static Result<PublicKey> fromPem(std::string_view pem);

  std::string der() const;  // SubjectPublicKeyInfo
  std::string pem() const;
  std::string id() const;

  // kDataLoss if `signature` was not made by this key over `message`.
  Status verify(Bytes message, Bytes signature) const;

  explicit PublicKey(std::shared_ptr<const KeyHandle> key) : key_(std::move(key)) {}
  const KeyHandle& handle() const { return *key_; }

 private:
  friend class PrivateKey;

  std::shared_ptr<const KeyHandle> key_;
};

// What signs where a private key is not in this process (signing/token). Thread safe.
class KeyDevice {
 public:
  virtual ~KeyDevice() = default;
  // As PrivateKey::sign; kUnavailable while the device is away.
  virtual Result<std::string> sign(Bytes message) const = 0;
};

// Thread safe.
class PrivateKey {
 public:
  static Result<PrivateKey> create();
  // A PKCS#8 PEM file. kPermissionDenied unless it is a regular file, owned by this user (or root), with mode
  // 0600 or 0400.
  static Result<PrivateKey> load(const std::string& path);
  // Writes a new file with mode 0600. kAlreadyExists rather than overwrite; kFailedPrecondition for a key
  // that a device holds.
  Status save(const std::string& path) const;

  PublicKey publicKey() const { return PublicKey(key_); }
  // ECDSA over SHA-256, DER. Two signatures of one message differ.
  Result<std::string> sign(Bytes message) const;

  explicit PrivateKey(std::shared_ptr<const KeyHandle> key) : key_(std::move(key)) {}
  // The key that `device` holds and `publicKey` verifies.
  PrivateKey(const PublicKey& publicKey, std::shared_ptr<const KeyDevice> device);
  // A key on a device gives its public half alone: OpenSSL cannot sign with it.
  const KeyHandle& handle() const { return *key_; }

 private:
  std::shared_ptr<const KeyHandle> key_;
  std::shared_ptr<const KeyDevice> device_;  // null for a key in memory
};

}  // namespace kiln::signing
