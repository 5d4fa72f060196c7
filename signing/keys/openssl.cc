#include "signing/keys/openssl.h"

#include <openssl/err.h>
#include <openssl/pem.h>

#include <algorithm>
#include <cctype>
#include <cstring>

#include "signing/keys/files.h"

namespace kiln::signing {
namespace {

constexpr std::size_t kMaxKeyBytes = 16 << 10;

// A SubjectPublicKeyInfo (RFC 5480) up to the point: ecPublicKey, prime256v1 by name, a point of both
// numbers.
constexpr char kSpkiHead[] =
    "\x30\x59\x30\x13\x06\x07\x2a\x86\x48\xce\x3d\x02\x01\x06\x08\x2a\x86\x48\xce\x3d\x03\x01\x07\x03\x42\x00"
    "\x04";
constexpr int kSpkiBytes = sizeof kSpkiHead - 1 + 64;

// One unencrypted block "-----BEGIN LABEL-----", lines of base64, "-----END LABEL-----", and nothing else.
bool isOneBlock(std::string_view pem, std::string_view label) {
  const std::string begin = "-----BEGIN " + std::string(label) + "-----\n";
  const std::string end = "\n-----END " + std::string(label) + "-----";
  if (pem.ends_with('\n')) pem.remove_suffix(1);
  if (pem.size() < begin.size() + end.size() || !pem.starts_with(begin) || !pem.ends_with(end)) return false;
  pem.remove_prefix(begin.size());
  pem.remove_suffix(end.size());
  return std::all_of(pem.begin(), pem.end(), [](unsigned char c) {
    return std::isalnum(c) || c == '+' || c == '/' || c == '=' || c == '\n';
  });
}

}  // namespace

BioPtr readerOf(std::string_view text) {
  return BioPtr(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
}
BioPtr writer() {
  return BioPtr(BIO_new(BIO_s_mem()));
}

std::string textOf(BIO* bio) {
  char* data = nullptr;
  long size = BIO_get_mem_data(bio, &data);
  return std::string(data, static_cast<std::size_t>(size));
}

bool isP256(EVP_PKEY* key) {
  if (!key || !EVP_PKEY_is_a(key, "EC")) return false;
  unsigned char* der = nullptr;
  const int size = i2d_PUBKEY(key, &der);
  const bool good = size == kSpkiBytes && std::memcmp(der, kSpkiHead, sizeof kSpkiHead - 1) == 0;
  OPENSSL_free(der);
  return good;
}

void clearErrors() {
  ERR_clear_error();
}

bool isPem(std::string_view pem, std::string_view written) {
  return !written.empty() && (pem == written || pem == written.substr(0, written.size() - 1));
}

bool isPublicPemOf(EVP_PKEY* key, std::string_view pem) {
  BioPtr bio = writer();
  return key && PEM_write_bio_PUBKEY(bio.get(), key) == 1 && isPem(pem, textOf(bio.get()));
}

EVP_PKEY* readPrivatePem(std::string_view pem) {
  if (!isOneBlock(pem, "PRIVATE KEY") && !isOneBlock(pem, "EC PRIVATE KEY")) return nullptr;
  BioPtr bio = readerOf(pem);
  EVP_PKEY* key =
      PEM_read_bio_PrivateKey(bio.get(), nullptr, [](char*, int, int, void*) { return -1; }, nullptr);
  clearErrors();
  return key;
}

Result<EVP_PKEY*> loadPrivateKey(const std::string& path) {
  KILN_ASSIGN(std::string pem, readSecretFile(path, kMaxKeyBytes));
  EVP_PKEY* key = readPrivatePem(pem);
  OPENSSL_cleanse(pem.data(), pem.size());
  if (!key)
    return fail(Code::kInvalidArgument,
                path + ": not one private key in plain PEM; openssl pkcs8 -topk8 -nocrypt writes one");
  return key;
}

Status savePrivateKey(EVP_PKEY* key, const std::string& path) {
  BioPtr bio = writer();
  if (PEM_write_bio_PKCS8PrivateKey(bio.get(), key, nullptr, nullptr, 0, nullptr, nullptr) != 1)
    return fail(Code::kInternal, path + ": OpenSSL could not write the key");
  std::string pem = textOf(bio.get());
  Status saved = writeSecretFile(path, pem);
  OPENSSL_cleanse(pem.data(), pem.size());
  return saved;
}

Result<std::string> signMessage(EVP_PKEY* key, const EVP_MD* digest, Bytes message) {
  DigestContextPtr context(EVP_MD_CTX_new());
  std::size_t size = 0;
  std::string out;
  bool ok = EVP_DigestSignInit(context.get(), nullptr, digest, nullptr, key) == 1 &&
            EVP_DigestSign(context.get(), nullptr, &size, message.data(), message.size()) == 1;
  if (ok) {
    out.resize(size);
    ok = EVP_DigestSign(context.get(), reinterpret_cast<unsigned char*>(out.data()), &size, message.data(),
                        message.size()) == 1;
    out.resize(size);
  }
  clearErrors();
  if (!ok) return fail(Code::kInternal, "OpenSSL could not sign");
  return out;
}

bool isSignedBy(EVP_PKEY* key, const EVP_MD* digest, Bytes message, Bytes signature) {
  DigestContextPtr context(EVP_MD_CTX_new());
  bool ok = EVP_DigestVerifyInit(context.get(), nullptr, digest, nullptr, key) == 1 &&
            EVP_DigestVerify(context.get(), signature.data(), signature.size(), message.data(),
                             message.size()) == 1;
  clearErrors();
  return ok;
}

}  // namespace kiln::signing
