// A CI system's token issuer, for tests: keys, their JSON Web Key Set, and tokens signed with them.
#pragma once

#include <openssl/core_names.h>
#include <openssl/ecdsa.h>
#include <openssl/evp.h>
#include <openssl/rsa.h>

#include <memory>
#include <string>

#include "manifest/base/digest.h"
#include "manifest/json/json.h"

namespace kiln::testing_support {

inline std::string toBase64Url(std::string_view bytes) {
  std::string text = toBase64(asBytes(bytes));
  while (text.ends_with('=')) text.pop_back();
  for (char& c : text) c = c == '+' ? '-' : c == '/' ? '_' : c;
  return text;
}

// Not thread safe.
class TokenFactory {
 public:
  // "RS256" or "ES256".
  explicit TokenFactory(std::string algorithm, std::string keyId = "k1")
      : algorithm_(std::move(algorithm)),
        keyId_(std::move(keyId)),
        key_(algorithm_ == "RS256" ? EVP_RSA_gen(2048) : EVP_EC_gen("P-256"), EVP_PKEY_free) {}

  // Its public key as a member of "keys".
  Json jwk() const {
    Json out{{"kid", keyId_}, {"use", "sig"}, {"alg", algorithm_}};
    if (algorithm_ == "RS256") {
      out["kty"] = "RSA";
      out["n"] = number(OSSL_PKEY_PARAM_RSA_N);
      out["e"] = number(OSSL_PKEY_PARAM_RSA_E);
    } else {
      out["kty"] = "EC";
      out["crv"] = "P-256";
      out["x"] = number(OSSL_PKEY_PARAM_EC_PUB_X, 32);
      out["y"] = number(OSSL_PKEY_PARAM_EC_PUB_Y, 32);
    }
    return out;
  }
  std::string jwks() const { return Json{{"keys", {jwk()}}}.dump(); }

  std::string token(const Json& claims) const {
    return token(Json{{"alg", algorithm_}, {"kid", keyId_}, {"typ", "JWT"}}, claims);
  }
  std::string token(const Json& header, const Json& claims) const {
    const std::string text = toBase64Url(header.dump()) + "." + toBase64Url(claims.dump());
    return text + "." + toBase64Url(sign(text));
  }

 private:
  std::string number(const char* name, int bytes = 0) const {
    BIGNUM* value = nullptr;
    EVP_PKEY_get_bn_param(key_.get(), name, &value);
    std::string out(static_cast<std::size_t>(bytes == 0 ? BN_num_bytes(value) : bytes), '\0');
    BN_bn2binpad(value, reinterpret_cast<unsigned char*>(out.data()), static_cast<int>(out.size()));
    BN_free(value);
    return toBase64Url(out);
  }
  std::string sign(const std::string& text) const {
    EVP_MD_CTX* context = EVP_MD_CTX_new();
    std::string out(1024, '\0');
    std::size_t size = out.size();
    EVP_DigestSignInit(context, nullptr, EVP_sha256(), nullptr, key_.get());
    EVP_DigestSign(context, reinterpret_cast<unsigned char*>(out.data()), &size,
                   reinterpret_cast<const unsigned char*>(text.data()), text.size());
    EVP_MD_CTX_free(context);
    out.resize(size);
    return algorithm_ == "RS256" ? out : rawPair(out);
  }
  static std::string rawPair(const std::string& der) {
    const auto* at = reinterpret_cast<const unsigned char*>(der.data());
    ECDSA_SIG* pair = d2i_ECDSA_SIG(nullptr, &at, static_cast<long>(der.size()));
    std::string out(64, '\0');
    BN_bn2binpad(ECDSA_SIG_get0_r(pair), reinterpret_cast<unsigned char*>(out.data()), 32);
    BN_bn2binpad(ECDSA_SIG_get0_s(pair), reinterpret_cast<unsigned char*>(out.data()) + 32, 32);
    ECDSA_SIG_free(pair);
    return out;
  }

  std::string algorithm_, keyId_;
  std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)> key_;
};

}  // namespace kiln::testing_support
