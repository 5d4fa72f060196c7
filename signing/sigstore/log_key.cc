#include "signing/sigstore/log_key.h"

#include "signing/keys/openssl.h"

namespace kiln::signing {
namespace {

constexpr std::size_t kMaxKeyBytes = 16 << 10;

// The hash that a key of this kind signs with; null for Ed25519, which hashes by itself.
const EVP_MD* hashOf(EVP_PKEY* key) {
  if (EVP_PKEY_is_a(key, "ED25519")) return nullptr;
  const int bits = EVP_PKEY_is_a(key, "EC") ? EVP_PKEY_get_bits(key) : 256;
  if (bits <= 256) return EVP_sha256();
  return bits <= 384 ? EVP_sha384() : EVP_sha512();
}

bool isServed(EVP_PKEY* key) {
  if (!key) return false;
  if (EVP_PKEY_is_a(key, "RSA")) return EVP_PKEY_get_bits(key) >= 2048;
  return EVP_PKEY_is_a(key, "ED25519") || (EVP_PKEY_is_a(key, "EC") && EVP_PKEY_get_bits(key) >= 256);
}

}  // namespace

Result<LogKey> LogKey::fromDer(std::string_view spki) {
  const auto bad = [] {
    return fail(Code::kInvalidArgument, "is no public key that is served: Ed25519, RSA or a NIST curve");
  };
  if (spki.empty() || spki.size() > kMaxKeyBytes) return bad();
  const auto* at = reinterpret_cast<const unsigned char*>(spki.data());
  const auto* end = at + spki.size();
  auto key = std::make_shared<const KeyHandle>(d2i_PUBKEY(nullptr, &at, static_cast<long>(spki.size())));
  clearErrors();
  if (at != end || !isServed(key->key)) return bad();
  LogKey out;
  out.key_ = std::move(key);
  return out;
}

bool LogKey::verifies(Bytes message, Bytes signature) const {
  return isSignedBy(key_->key, hashOf(key_->key), message, signature);
}

bool LogKey::verifiesSha256(Bytes message, Bytes signature) const {
  return !EVP_PKEY_is_a(key_->key, "ED25519") && isSignedBy(key_->key, EVP_sha256(), message, signature);
}

}  // namespace kiln::signing
