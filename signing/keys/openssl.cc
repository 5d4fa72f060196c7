#include "signing/keys/openssl.h"

#include <openssl/core_names.h>
#include <openssl/err.h>

#include <cstring>

namespace kiln::signing {

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
  char group[64];
  std::size_t length = 0;
  return key && EVP_PKEY_is_a(key, "EC") &&
         EVP_PKEY_get_utf8_string_param(key, OSSL_PKEY_PARAM_GROUP_NAME, group, sizeof group, &length) == 1 &&
         std::strcmp(group, "prime256v1") == 0;
}

void clearErrors() {
  ERR_clear_error();
}

}  // namespace kiln::signing
