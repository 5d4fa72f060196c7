#include "coordinator/access/json_web_key.h"

#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/param_build.h>

#include <algorithm>
#include <optional>

#include "manifest/json/reader.h"

namespace kiln::access {
namespace {

constexpr std::size_t kMaxSetBytes = 256 << 10;
constexpr std::size_t kMaxKeys = 64;
constexpr int kMinRsaBits = 2048, kMaxRsaBits = 8192;
constexpr std::size_t kCoordinateBytes = 32;

struct BnFree {
  void operator()(BIGNUM* number) const { BN_free(number); }
};
struct BuilderFree {
  void operator()(OSSL_PARAM_BLD* builder) const { OSSL_PARAM_BLD_free(builder); }
};
struct ParamsFree {
  void operator()(OSSL_PARAM* params) const { OSSL_PARAM_free(params); }
};
struct ContextFree {
  void operator()(EVP_PKEY_CTX* context) const { EVP_PKEY_CTX_free(context); }
};
using BnPtr = std::unique_ptr<BIGNUM, BnFree>;
using BuilderPtr = std::unique_ptr<OSSL_PARAM_BLD, BuilderFree>;

const unsigned char* bytesOf(const std::string& text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}

BnPtr number(const std::string& bytes) {
  return BnPtr(BN_bin2bn(bytesOf(bytes), static_cast<int>(bytes.size()), nullptr));
}

// A checked public key of these parameters; null if OpenSSL refuses it.
std::shared_ptr<const signing::KeyHandle> publicKey(const char* type, OSSL_PARAM_BLD* builder) {
  std::unique_ptr<OSSL_PARAM, ParamsFree> params(OSSL_PARAM_BLD_to_param(builder));
  std::unique_ptr<EVP_PKEY_CTX, ContextFree> context(EVP_PKEY_CTX_new_from_name(nullptr, type, nullptr));
  EVP_PKEY* made = nullptr;
  const bool ok = params && context && EVP_PKEY_fromdata_init(context.get()) == 1 &&
                  EVP_PKEY_fromdata(context.get(), &made, EVP_PKEY_PUBLIC_KEY, params.get()) == 1;
  auto key = std::make_shared<const signing::KeyHandle>(made);
  std::unique_ptr<EVP_PKEY_CTX, ContextFree> check(ok ? EVP_PKEY_CTX_new_from_pkey(nullptr, made, nullptr)
                                                      : nullptr);
  const bool good = check && EVP_PKEY_public_check(check.get()) == 1;
  signing::clearErrors();
  return good ? key : nullptr;
}

Result<std::string> bytesMember(ObjectReader& reader, std::string_view name) {
  KILN_ASSIGN(const std::string text, reader.string(name));
  auto bytes = fromBase64Url(text);
  if (!bytes) return badMember(reader.path(name), "must be base64url without padding");
  return bytes;
}

Result<JsonWebKey> rsaKey(ObjectReader& reader, std::string id) {
  KILN_ASSIGN(const std::string n, bytesMember(reader, "n"));
  KILN_ASSIGN(const std::string e, bytesMember(reader, "e"));
  // Bounded before OpenSSL calculates with them.
  if (n.size() > kMaxRsaBits / 8 || e.size() > 4) return badMember(reader.path("n"), "is too long");
  const BnPtr modulus = number(n), exponent = number(e);
  const BuilderPtr builder(OSSL_PARAM_BLD_new());
  if (!modulus || BN_num_bits(modulus.get()) < kMinRsaBits)
    return badMember(reader.path("n"), "is shorter than 2048 bits");
  if (!exponent || !builder ||
      OSSL_PARAM_BLD_push_BN(builder.get(), OSSL_PKEY_PARAM_RSA_N, modulus.get()) != 1 ||
      OSSL_PARAM_BLD_push_BN(builder.get(), OSSL_PKEY_PARAM_RSA_E, exponent.get()) != 1)
    return fail(Code::kInternal, "OpenSSL could not take the numbers of a key");
  auto key = publicKey("RSA", builder.get());
  if (!key) return badMember(reader.path("n"), "is no RSA public key");
  return JsonWebKey{std::move(id), Algorithm::kRs256, std::move(key)};
}

Result<JsonWebKey> ecKey(ObjectReader& reader, std::string id) {
  KILN_ASSIGN(const std::string x, bytesMember(reader, "x"));
  KILN_ASSIGN(const std::string y, bytesMember(reader, "y"));
  if (x.size() != kCoordinateBytes || y.size() != kCoordinateBytes)
    return badMember(reader.path("x"), "and y must have 32 bytes each");
  const std::string point = "\x04" + x + y;
  const BuilderPtr builder(OSSL_PARAM_BLD_new());
  if (!builder ||
      OSSL_PARAM_BLD_push_utf8_string(builder.get(), OSSL_PKEY_PARAM_GROUP_NAME, "prime256v1", 0) != 1 ||
      OSSL_PARAM_BLD_push_octet_string(builder.get(), OSSL_PKEY_PARAM_PUB_KEY, point.data(), point.size()) !=
          1)
    return fail(Code::kInternal, "OpenSSL could not take the point of a key");
  auto key = publicKey("EC", builder.get());
  if (!key) return badMember(reader.path("x"), "and y are no point of P-256");
  return JsonWebKey{std::move(id), Algorithm::kEs256, std::move(key)};
}

Result<std::string> textOr(ObjectReader& reader, std::string_view name, const std::string& absent) {
  return reader.has(name) ? reader.string(name) : Result<std::string>(absent);
}

// Nothing for a key that is not for signing with an algorithm of ours.
Result<std::optional<JsonWebKey>> readKey(ObjectReader reader) {
  KILN_ASSIGN(const std::string type, reader.string("kty"));
  KILN_ASSIGN(const std::string use, textOr(reader, "use", "sig"));
  KILN_ASSIGN(std::string id, textOr(reader, "kid", ""));
  if (use != "sig") return std::optional<JsonWebKey>();
  if (type == "RSA") {
    KILN_ASSIGN(const std::string algorithm, textOr(reader, "alg", "RS256"));
    if (algorithm != "RS256") return std::optional<JsonWebKey>();
    return rsaKey(reader, std::move(id));
  }
  if (type == "EC") {
    KILN_ASSIGN(const std::string algorithm, textOr(reader, "alg", "ES256"));
    KILN_ASSIGN(const std::string curve, reader.string("crv"));
    if (algorithm != "ES256" || curve != "P-256") return std::optional<JsonWebKey>();
    return ecKey(reader, std::move(id));
  }
  return std::optional<JsonWebKey>();
}

}  // namespace

Result<std::string> fromBase64Url(std::string_view text) {
  std::string standard(text);
  for (char& c : standard) {
    if (c == '+' || c == '/' || c == '=') return fail(Code::kInvalidArgument, "not base64url");
    if (c == '-') c = '+';
    if (c == '_') c = '/';
  }
  standard.append((4 - standard.size() % 4) % 4, '=');
  return fromBase64(standard);
}

Result<std::vector<JsonWebKey>> parseJsonWebKeys(std::string_view text) {
  KILN_ASSIGN(const Json json, parseJson(text, {.bytes = kMaxSetBytes, .depth = 8}));
  KILN_ASSIGN(ObjectReader reader, ObjectReader::open(json, "jwks"));
  KILN_ASSIGN(const Json* list, reader.array("keys"));
  if (list->size() > kMaxKeys) return badMember(reader.path("keys"), "has more than 64 keys");
  std::vector<JsonWebKey> out;
  for (std::size_t i = 0; i < list->size(); ++i) {
    KILN_ASSIGN(ObjectReader entry,
                ObjectReader::open((*list)[i], reader.path("keys") + "[" + std::to_string(i) + "]"));
    KILN_ASSIGN(auto key, readKey(std::move(entry)));
    if (key) out.push_back(std::move(*key));
  }
  if (out.empty())
    return badMember(reader.path("keys"), "has no RSA key for RS256 and no P-256 key for ES256");
  return out;
}

}  // namespace kiln::access
