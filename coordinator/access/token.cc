#include "coordinator/access/token.h"

#include <openssl/ecdsa.h>

#include <algorithm>

#include "manifest/base/printable.h"
#include "manifest/json/reader.h"

namespace kiln::access {
namespace {

constexpr std::size_t kMaxSubject = 1024;
constexpr std::size_t kEs256Bytes = 64;  // r and s, 32 bytes each (RFC 7518 3.4)

tl::unexpected<Error> refused(const std::string& why) {
  return fail(Code::kUnauthenticated, "token: " + why);
}

struct Parts {
  std::string_view header, claims, signature, signedText;  // of the token, still encoded
};

Result<Parts> split(std::string_view token) {
  if (token.size() > kMaxTokenBytes) return refused("longer than 16 KiB");
  const auto first = token.find('.');
  const auto second = first == std::string_view::npos ? first : token.find('.', first + 1);
  if (second == std::string_view::npos || token.find('.', second + 1) != std::string_view::npos)
    return refused("not a JSON Web Token of three parts");
  return Parts{token.substr(0, first), token.substr(first + 1, second - first - 1), token.substr(second + 1),
               token.substr(0, second)};
}

Result<Json> decode(std::string_view part, const char* name) {
  const auto text = fromBase64Url(part);
  if (!text) return refused(std::string(name) + " is not base64url");
  auto json = parseJson(*text, {.bytes = kMaxTokenBytes, .depth = 16});
  if (!json || !json->is_object()) return refused(std::string(name) + " is not a JSON object");
  return json;
}

struct Header {
  Algorithm algorithm = Algorithm::kRs256;
  std::string keyId;  // "" if it names none
};

Result<Header> readHeader(const Json& json) {
  KILN_ASSIGN(ObjectReader reader, ObjectReader::open(json, "header"));
  Header header;
  KILN_ASSIGN(const std::string algorithm, reader.string("alg"));
  if (algorithm == "ES256")
    header.algorithm = Algorithm::kEs256;
  else if (algorithm != "RS256")
    return refused("its algorithm is " + inQuotes(algorithm) + "; RS256 and ES256 are taken");
  if (reader.has("crit")) return refused("it has extensions that must be understood");
  if (reader.has("typ")) {
    // RFC 8725 3.11: a token that was issued for something else than to say who somebody is, says so here.
    KILN_ASSIGN(const std::string type, reader.string("typ"));
    if (type.size() != 3 || (type[0] | 32) != 'j' || (type[1] | 32) != 'w' || (type[2] | 32) != 't')
      return refused("its type is " + inQuotes(type) + " and not \"JWT\"");
  }
  if (reader.has("kid")) {
    KILN_ASSIGN(header.keyId, reader.string("kid"));
  }
  return header;
}

struct Claims {
  std::string issuer, subject;
  std::vector<std::string> audiences;
  TimePoint expires, notBefore;
  std::map<std::string, std::string> texts;
};

// A time of the claims, in whole seconds; the epoch where there is none.
Result<TimePoint> timeOr(ObjectReader& reader, const char* name) {
  constexpr std::int64_t kLatest = 253'402'300'799;  // of the year 9999
  if (!reader.has(name)) return TimePoint();
  KILN_ASSIGN(const std::int64_t seconds, reader.integer(name, 0, kLatest));
  return TimePoint(std::chrono::seconds(seconds));
}

Result<Claims> readClaims(const Json& json) {
  KILN_ASSIGN(ObjectReader reader, ObjectReader::open(json, "claims"));
  Claims claims;
  KILN_ASSIGN(claims.issuer, reader.string("iss"));
  KILN_ASSIGN(claims.subject, reader.string("sub"));
  if (claims.subject.empty() || claims.subject.size() > kMaxSubject)
    return refused("its subject is empty or longer than 1024 bytes");
  if (printable(claims.subject, kMaxSubject) != claims.subject)
    return refused("its subject has a control character, or one that cannot be seen");
  KILN_ASSIGN(const Json* audience, reader.any("aud"));
  if (audience->is_string()) {
    claims.audiences.push_back(audience->get<std::string>());
  } else {
    KILN_ASSIGN(claims.audiences, reader.strings("aud"));
  }
  KILN_TRY(reader.any("exp"));
  KILN_ASSIGN(claims.expires, timeOr(reader, "exp"));
  KILN_ASSIGN(const TimePoint notBefore, timeOr(reader, "nbf"));
  KILN_ASSIGN(const TimePoint issued, timeOr(reader, "iat"));
  claims.notBefore = std::max(notBefore, issued);
  for (const auto& [name, value] : json.items())
    if (value.is_string()) claims.texts.emplace(name, value.get<std::string>());
  return claims;
}

// Whether it is for this farm, and now.
Status judge(const Claims& claims, const TokenIssuer& issuer, TimePoint now) {
  const bool meant = std::ranges::any_of(claims.audiences, [&](const std::string& audience) {
    return std::ranges::find(issuer.audiences, audience) != issuer.audiences.end();
  });
  if (!meant)
    return refused("it is not meant for this farm, whose audience is " + inQuotes(issuer.audiences.front()));
  if (now >= claims.expires + kTokenLeeway) return refused("it expired at " + rfc3339(claims.expires));
  if (now + kTokenLeeway < claims.notBefore)
    return refused("it is not valid before " + rfc3339(claims.notBefore));
  return {};
}

Result<const TokenIssuer*> issuerOf(const Claims& claims, std::span<const TokenIssuer> issuers) {
  const auto issuer = std::ranges::find(issuers, claims.issuer, &TokenIssuer::issuer);
  if (issuer == issuers.end())
    return refused("its issuer " + inQuotes(claims.issuer) + " is not one of this farm's");
  return &*issuer;
}

TokenHolder holderOf(Claims claims) {
  return {std::move(claims.issuer), std::move(claims.subject), std::move(claims.texts)};
}

// r and s as the ASN.1 that OpenSSL verifies; "" if that cannot be.
std::string derOf(const std::string& signature) {
  if (signature.size() != kEs256Bytes) return "";
  const auto* bytes = reinterpret_cast<const unsigned char*>(signature.data());
  BIGNUM* r = BN_bin2bn(bytes, 32, nullptr);
  BIGNUM* s = BN_bin2bn(bytes + 32, 32, nullptr);
  ECDSA_SIG* pair = ECDSA_SIG_new();
  if (!r || !s || !pair || ECDSA_SIG_set0(pair, r, s) != 1) {
    BN_free(r);
    BN_free(s);
    ECDSA_SIG_free(pair);
    return "";
  }
  unsigned char* der = nullptr;
  const int size = i2d_ECDSA_SIG(pair, &der);
  std::string out(reinterpret_cast<char*>(der), size > 0 ? static_cast<std::size_t>(size) : 0);
  OPENSSL_free(der);
  ECDSA_SIG_free(pair);
  return out;
}

bool signedBy(const JsonWebKey& key, std::string_view text, const std::string& signature) {
  const std::string bytes = key.algorithm == Algorithm::kEs256 ? derOf(signature) : signature;
  const signing::DigestContextPtr context(EVP_MD_CTX_new());
  const bool good =
      !bytes.empty() && context &&
      EVP_DigestVerifyInit(context.get(), nullptr, EVP_sha256(), nullptr, key.key->key) == 1 &&
      EVP_DigestVerify(context.get(), reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size(),
                       reinterpret_cast<const unsigned char*>(text.data()), text.size()) == 1;
  signing::clearErrors();
  return good;
}

bool fits(const JsonWebKey& key, const Header& header) {
  return key.algorithm == header.algorithm && (header.keyId.empty() || key.id == header.keyId);
}

bool hasKeyFor(const KeySet& keys, const Header& header) {
  return keys && std::ranges::any_of(*keys, [&](const JsonWebKey& key) { return fits(key, header); });
}

// Keys are asked for anew only for a token that is all right but for the key that it names: everybody may
// invent such a name.
Result<KeySet> keysFor(const TokenIssuer& issuer, const Header& header, bool elseGood,
                       KeySource* discovered) {
  if (!issuer.discovery || !discovered) return std::make_shared<const std::vector<JsonWebKey>>(issuer.keys);
  KeySet keys = discovered->known(issuer.issuer);
  if (elseGood && !hasKeyFor(keys, header)) keys = discovered->refreshed(issuer.issuer);
  if (!keys)
    return fail(Code::kUnavailable, "token: the keys of " + inQuotes(issuer.issuer) +
                                        " could not be fetched; the coordinator's log says why");
  return keys;
}

struct ReadToken {
  Parts parts;
  Header header;
  Claims claims;
};

Result<ReadToken> readToken(std::string_view token) {
  KILN_ASSIGN(const Parts parts, split(token));
  KILN_ASSIGN(const Json headerJson, decode(parts.header, "its header"));
  KILN_ASSIGN(const Json claimsJson, decode(parts.claims, "its claims"));
  auto header = readHeader(headerJson);
  if (!header) return fail(Code::kUnauthenticated, header.error().message);
  auto claims = readClaims(claimsJson);
  if (!claims) return refused(claims.error().message);
  return ReadToken{parts, std::move(*header), std::move(*claims)};
}

}  // namespace

Result<TokenHolder> verifyToken(std::string_view token, std::span<const TokenIssuer> issuers, TimePoint now,
                                KeySource* discovered) {
  KILN_ASSIGN(ReadToken read, readToken(token));
  const auto signature = fromBase64Url(read.parts.signature);
  if (!signature) return refused("its signature is not base64url");
  KILN_ASSIGN(const TokenIssuer* issuer, issuerOf(read.claims, issuers));
  const Status judged = judge(read.claims, *issuer, now);
  const auto keys = keysFor(*issuer, read.header, judged.has_value(), discovered);
  if (!keys) return fail(judged ? keys.error() : judged.error());
  const bool good = std::ranges::any_of(**keys, [&](const JsonWebKey& key) {
    return fits(key, read.header) && signedBy(key, read.parts.signedText, *signature);
  });
  if (!good) return refused("no key of " + inQuotes(issuer->issuer) + " that this farm knows signed it");
  KILN_TRY(judged);
  return holderOf(std::move(read.claims));
}

Result<TokenHolder> readUnprovenToken(std::string_view token, std::span<const TokenIssuer> issuers,
                                      TimePoint now) {
  KILN_ASSIGN(ReadToken read, readToken(token));
  KILN_ASSIGN(const TokenIssuer* issuer, issuerOf(read.claims, issuers));
  KILN_TRY(judge(read.claims, *issuer, now));
  return holderOf(std::move(read.claims));
}

Result<TokenHolder> readClaimsAlone(std::string_view text, std::span<const TokenIssuer> issuers,
                                    TimePoint now) {
  KILN_ASSIGN(const Json json, parseJson(text, {.bytes = kMaxTokenBytes, .depth = 16}));
  auto claims = readClaims(json);
  if (!claims) return refused(claims.error().message);
  KILN_ASSIGN(const TokenIssuer* issuer, issuerOf(*claims, issuers));
  KILN_TRY(judge(*claims, *issuer, now));
  return holderOf(std::move(*claims));
}

}  // namespace kiln::access
