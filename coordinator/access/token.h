// Bearer tokens of CI systems: JSON Web Tokens that an OpenID Connect issuer signed.
// Source: RFC 7515 (compact form), RFC 7519 (claims), RFC 8725 (what to refuse).
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "coordinator/access/identity.h"
#include "coordinator/access/json_web_key.h"
#include "manifest/base/clock.h"

namespace kiln::access {

inline constexpr std::size_t kMaxTokenBytes = 16 << 10;
// How far the issuer's clock may be off.
inline constexpr Duration kTokenLeeway = std::chrono::seconds(60);

struct TokenIssuer {
  std::string issuer;    // the claim `iss`, compared byte by byte
  std::string audience;  // what the claim `aud` must name
  std::vector<JsonWebKey> keys;
};

// Whose token it is. kUnauthenticated unless its algorithm is RS256 or ES256, a key of the issuer that it
// names signed it, it is meant for the issuer's audience, has a subject and an expiry, and `now` lies between
// its `nbf` (where it has one) and `exp`. Keys and key addresses inside the token are never used. Messages
// hold nothing of the token but its issuer.
Result<TokenHolder> verifyToken(std::string_view token, std::span<const TokenIssuer> issuers, TimePoint now);

}  // namespace kiln::access
