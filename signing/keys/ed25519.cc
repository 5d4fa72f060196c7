#include "signing/keys/ed25519.h"

#include <openssl/evp.h>
#include <openssl/x509.h>

#include "signing/keys/openssl.h"

namespace kiln::signing {
namespace {

constexpr std::size_t kRawBytes = 32;

Result<std::shared_ptr<const KeyHandle>> own(EVP_PKEY* key, const std::string& what) {
  auto handle = std::make_shared<const KeyHandle>(key);
  clearErrors();
  if (!key || !EVP_PKEY_is_a(key, "ED25519"))
    return fail(Code::kInvalidArgument, what + ": not an Ed25519 key");
  return handle;
}

}  // namespace

Result<Ed25519PublicKey> Ed25519PublicKey::fromRaw(std::string_view raw) {
  if (raw.size() != kRawBytes) return fail(Code::kInvalidArgument, "an Ed25519 public key has 32 bytes");
  const auto* bytes = reinterpret_cast<const unsigned char*>(raw.data());
  KILN_ASSIGN(auto handle,
              own(EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, nullptr, bytes, raw.size()), "public key"));
  return Ed25519PublicKey(std::move(handle));
}

Result<Ed25519PublicKey> Ed25519PublicKey::fromDer(std::string_view spki) {
  // RFC 8410: a fixed head, then the key.
  if (spki.size() < kRawBytes) return fail(Code::kInvalidArgument, "public key: too short");
  KILN_ASSIGN(Ed25519PublicKey key, fromRaw(spki.substr(spki.size() - kRawBytes)));
  if (key.der() != spki) return fail(Code::kInvalidArgument, "public key: not an Ed25519 key");
  return key;
}

std::string Ed25519PublicKey::raw() const {
  std::string out(kRawBytes, '\0');
  std::size_t size = out.size();
  EVP_PKEY_get_raw_public_key(key_->key, reinterpret_cast<unsigned char*>(out.data()), &size);
  return out;
}

std::string Ed25519PublicKey::der() const {
  unsigned char* data = nullptr;
  int size = i2d_PUBKEY(key_->key, &data);
  std::string out(reinterpret_cast<char*>(data), size > 0 ? static_cast<std::size_t>(size) : 0);
  OPENSSL_free(data);
  return out;
}

Status Ed25519PublicKey::verify(Bytes message, Bytes signature) const {
  if (!isSignedBy(key_->key, nullptr, message, signature))
    return fail(Code::kDataLoss, "the signature was not made by Ed25519 key " + toBase64(asBytes(raw())));
  return {};
}

Result<Ed25519PrivateKey> Ed25519PrivateKey::create() {
  KILN_ASSIGN(auto handle, own(EVP_PKEY_Q_keygen(nullptr, nullptr, "ED25519"), "new key"));
  return Ed25519PrivateKey(std::move(handle));
}

Result<Ed25519PrivateKey> Ed25519PrivateKey::load(const std::string& path) {
  KILN_ASSIGN(EVP_PKEY * key, loadPrivateKey(path));
  KILN_ASSIGN(auto handle, own(key, path));
  return Ed25519PrivateKey(std::move(handle));
}

Status Ed25519PrivateKey::save(const std::string& path) const {
  return savePrivateKey(key_->key, path);
}

Result<std::string> Ed25519PrivateKey::sign(Bytes message) const {
  return signMessage(key_->key, nullptr, message);
}

}  // namespace kiln::signing
