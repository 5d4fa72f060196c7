// Owners of OpenSSL's objects, for the files of this folder.
#pragma once

#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/x509.h>

#include <memory>
#include <string>
#include <string_view>

#include "manifest/base/digest.h"
#include "manifest/base/result.h"

namespace kiln::signing {

struct KeyHandle {
  explicit KeyHandle(EVP_PKEY* taken) : key(taken) {}
  KeyHandle(const KeyHandle&) = delete;
  KeyHandle& operator=(const KeyHandle&) = delete;
  ~KeyHandle() { EVP_PKEY_free(key); }
  EVP_PKEY* key;
};

struct BioFree {
  void operator()(BIO* bio) const { BIO_free(bio); }
};
using BioPtr = std::unique_ptr<BIO, BioFree>;

struct DigestContextFree {
  void operator()(EVP_MD_CTX* context) const { EVP_MD_CTX_free(context); }
};
using DigestContextPtr = std::unique_ptr<EVP_MD_CTX, DigestContextFree>;

// A BIO that reads `text`, which must outlive it.
BioPtr readerOf(std::string_view text);
BioPtr writer();
std::string textOf(BIO* bio);
// Also that its point and curve are written as they usually are: a key that can be written in several ways
// would have several ids, and count as several.
bool isP256(EVP_PKEY* key);

// Whether `pem` is `key`'s SubjectPublicKeyInfo as OpenSSL writes it (RFC 7468, strict), with or without the
// last newline: nothing before, between or after, and one spelling.
bool isPublicPemOf(EVP_PKEY* key, std::string_view pem);
// Whether `pem` is what OpenSSL wrote as `written`, with or without the last newline.
bool isPem(std::string_view pem, std::string_view written);

// The key of one unencrypted block "PRIVATE KEY" or "EC PRIVATE KEY" with nothing around it; null otherwise.
EVP_PKEY* readPrivatePem(std::string_view pem);
// A PKCS#8 PEM file, read and written as PrivateKey::load and save say; the caller owns what is loaded.
Result<EVP_PKEY*> loadPrivateKey(const std::string& path);
Status savePrivateKey(EVP_PKEY* key, const std::string& path);
// One-shot signatures; `digest` is null for Ed25519, which hashes by itself.
Result<std::string> signMessage(EVP_PKEY* key, const EVP_MD* digest, Bytes message);
bool isSignedBy(EVP_PKEY* key, const EVP_MD* digest, Bytes message, Bytes signature);
// Forgets OpenSSL's queued errors, so that they do not surface in another call.
void clearErrors();

}  // namespace kiln::signing
