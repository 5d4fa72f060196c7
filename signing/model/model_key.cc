#include "signing/model/model_key.h"

#include <openssl/pem.h>

#include "manifest/base/digest.h"
#include "signing/keys/files.h"
#include "signing/keys/openssl.h"

namespace kiln::signing {
namespace {

constexpr std::size_t kMaxKeyBytes = 16 << 10;

// The bits of a curve that may sign a model; 0 for any other key.
int curveBits(EVP_PKEY* key) {
  char name[32];
  std::size_t length = 0;
  if (!EVP_PKEY_is_a(key, "EC") || EVP_PKEY_get_group_name(key, name, sizeof name, &length) != 1) return 0;
  const std::string_view curve(name, length);
  if (curve == "prime256v1") return 256;
  if (curve == "secp384r1") return 384;
  return curve == "secp521r1" ? 521 : 0;
}

std::string derOf(EVP_PKEY* key) {
  unsigned char* data = nullptr;
  const int size = i2d_PUBKEY(key, &data);
  std::string out(reinterpret_cast<char*>(data), size > 0 ? static_cast<std::size_t>(size) : 0);
  OPENSSL_free(data);
  return out;
}

}  // namespace

Result<ModelKey> ModelKey::fromPem(std::string_view pem) {
  if (pem.size() > kMaxKeyBytes) return fail(Code::kInvalidArgument, "public key: too long");
  const BioPtr bio = readerOf(pem);
  ModelKey out;
  auto handle = std::make_shared<const KeyHandle>(PEM_read_bio_PUBKEY(bio.get(), nullptr, nullptr, nullptr));
  clearErrors();
  if (handle->key) out.bits_ = curveBits(handle->key);
  clearErrors();
  if (out.bits_ == 0)
    return fail(Code::kInvalidArgument, "not a public key on P-256, P-384 or P-521, in PEM");
  if (!isPublicPemOf(handle->key, pem))
    return fail(Code::kInvalidArgument, "public key: not plain PEM, one block with nothing around it");
  out.id_ = toBase64(digestOf(derOf(handle->key)).hash);
  out.pem_ = pem;
  if (!out.pem_.ends_with('\n')) out.pem_ += '\n';
  out.key_ = std::move(handle);
  return out;
}

Result<ModelKey> ModelKey::load(const std::string& path) {
  KILN_ASSIGN(const std::string pem, readTrustFile(path, kMaxKeyBytes));
  return fromPem(pem).map_error([&](const Error& error) { return error.in(path); });
}

const EVP_MD* ModelKey::hash() const {
  if (bits_ == 256) return EVP_sha256();
  return bits_ == 384 ? EVP_sha384() : EVP_sha512();
}

bool ModelKey::verifies(Bytes message, Bytes signature) const {
  return isSignedBy(key_->key, hash(), message, signature);
}

std::string modelKeyHint(std::string_view pem) {
  return toHex(digestOf(pem).hash);
}

}  // namespace kiln::signing
