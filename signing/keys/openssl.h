// Owners of OpenSSL's objects, for the files of this folder.
#pragma once

#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/x509.h>

#include <memory>
#include <string>
#include <string_view>

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
bool isP256(EVP_PKEY* key);
// Forgets OpenSSL's queued errors, so that they do not surface in another call.
void clearErrors();

}  // namespace kiln::signing
