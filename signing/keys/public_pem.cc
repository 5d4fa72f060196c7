#include "signing/keys/public_pem.h"

#include <openssl/pem.h>

#include "signing/keys/files.h"
#include "signing/keys/openssl.h"

namespace kiln::signing {
namespace {

constexpr std::size_t kMaxKeyBytes = 16 << 10;

EVP_PKEY* readPublic(const std::string& pem) {
  BioPtr bio = readerOf(pem);
  return PEM_read_bio_PUBKEY(bio.get(), nullptr, nullptr, nullptr);
}

}  // namespace

Result<std::string> readPublicKeyFile(const std::string& path) {
  KILN_ASSIGN(std::string pem, readTextFile(path, kMaxKeyBytes));
  const bool secret = pem.find("PRIVATE KEY") != std::string::npos;
  if (secret) {
    KILN_ASSIGN(pem, readSecretFile(path, kMaxKeyBytes));
  }
  const KeyHandle key(secret ? readPrivatePem(pem) : readPublic(pem));
  const bool plain = secret || isPublicPemOf(key.key, pem);
  if (secret) OPENSSL_cleanse(pem.data(), pem.size());
  clearErrors();
  if (!plain || (!isP256(key.key) && !(key.key && EVP_PKEY_is_a(key.key, "ED25519"))))
    return fail(Code::kInvalidArgument, path + ": not one P-256 or Ed25519 key in plain PEM");
  unsigned char* data = nullptr;
  const int size = i2d_PUBKEY(key.key, &data);
  std::string out(reinterpret_cast<char*>(data), size > 0 ? static_cast<std::size_t>(size) : 0);
  OPENSSL_free(data);
  return out;
}

}  // namespace kiln::signing
