#include "signing/keys/keys.h"

#include <openssl/ec.h>
#include <openssl/pem.h>

#include "signing/keys/openssl.h"

namespace kiln::signing {
namespace {

constexpr std::size_t kMaxKeyBytes = 16 << 10;

Result<std::shared_ptr<const KeyHandle>> own(EVP_PKEY* key, const char* what) {
  auto handle = std::make_shared<const KeyHandle>(key);
  clearErrors();
  if (!isP256(key)) return fail(Code::kInvalidArgument, std::string(what) + ": not an ECDSA P-256 key");
  return handle;
}

}  // namespace

Result<PublicKey> PublicKey::fromDer(std::string_view spki) {
  if (spki.size() > kMaxKeyBytes) return fail(Code::kInvalidArgument, "public key: too long");
  const auto* at = reinterpret_cast<const unsigned char*>(spki.data());
  const auto* end = at + spki.size();
  EVP_PKEY* key = d2i_PUBKEY(nullptr, &at, static_cast<long>(spki.size()));
  KILN_ASSIGN(auto handle, own(key, "public key"));
  if (at != end) return fail(Code::kInvalidArgument, "public key: bytes after its end");
  PublicKey out(std::move(handle));
  if (out.der() != spki) return fail(Code::kInvalidArgument, "public key: not in its one DER form");
  return out;
}

Result<PublicKey> PublicKey::fromPem(std::string_view pem) {
  if (pem.size() > kMaxKeyBytes) return fail(Code::kInvalidArgument, "public key: too long");
  BioPtr bio = readerOf(pem);
  KILN_ASSIGN(auto handle, own(PEM_read_bio_PUBKEY(bio.get(), nullptr, nullptr, nullptr), "public key"));
  if (!isPublicPemOf(handle->key, pem))
    return fail(Code::kInvalidArgument, "public key: not plain PEM, one block with nothing around it");
  return PublicKey(std::move(handle));
}

std::string PublicKey::der() const {
  unsigned char* data = nullptr;
  int size = i2d_PUBKEY(key_->key, &data);
  std::string out(reinterpret_cast<char*>(data), size > 0 ? static_cast<std::size_t>(size) : 0);
  OPENSSL_free(data);
  return out;
}

std::string PublicKey::pem() const {
  BioPtr bio = writer();
  PEM_write_bio_PUBKEY(bio.get(), key_->key);
  return textOf(bio.get());
}

std::string PublicKey::id() const {
  return toBase64(digestOf(der()).hash);
}

Status PublicKey::verify(Bytes message, Bytes signature) const {
  bool ok = isSignedBy(key_->key, EVP_sha256(), message, signature);
  if (!ok) return fail(Code::kDataLoss, "the signature was not made by key " + id());
  return {};
}

Result<PrivateKey> PrivateKey::create() {
  EVP_PKEY* key = EVP_EC_gen("P-256");
  if (!key) return fail(Code::kInternal, "OpenSSL made no P-256 key");
  KILN_ASSIGN(auto handle, own(key, "new key"));
  return PrivateKey(std::move(handle));
}

Result<PrivateKey> PrivateKey::load(const std::string& path) {
  KILN_ASSIGN(EVP_PKEY * key, loadPrivateKey(path));
  KILN_ASSIGN(auto handle, own(key, path.c_str()));
  return PrivateKey(std::move(handle));
}

PrivateKey::PrivateKey(const PublicKey& publicKey, std::shared_ptr<const KeyDevice> device)
    : key_(publicKey.key_), device_(std::move(device)) {}

Status PrivateKey::save(const std::string& path) const {
  if (device_) return fail(Code::kFailedPrecondition, path + ": the key does not leave its device");
  return savePrivateKey(key_->key, path);
}

Result<std::string> PrivateKey::sign(Bytes message) const {
  if (device_) return device_->sign(message);
  return signMessage(key_->key, EVP_sha256(), message);
}

}  // namespace kiln::signing
