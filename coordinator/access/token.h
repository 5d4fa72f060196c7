// Bearer tokens of CI systems: JSON Web Tokens that an OpenID Connect issuer signed.
// Source: RFC 7515 (compact form), RFC 7519 (claims), RFC 8725 (what to refuse).
#pragma once

#include <optional>
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

// An issuer whose keys are where its own discovery document says.
struct Discovery {
  std::string ca;             // file of the authorities of its certificate, PEM; "" for the system's
  bool loopbackHttp = false;  // it may be on loopback of this machine, over plain HTTP
  bool operator==(const Discovery&) const = default;
};

struct TokenIssuer {
  std::string issuer;                       // the claim `iss`, compared byte by byte
  std::vector<std::string> audiences;       // of which the claim `aud` must name one
  std::vector<JsonWebKey> keys;             // those of a file
  std::optional<Discovery> discovery = {};  // instead of a file
};

// Where the keys of issuers with discovery come from. Thread safe.
class KeySource {
 public:
  virtual ~KeySource() = default;
  // Those that were fetched last, if that is not too long ago. Never waits.
  virtual KeySet known(const std::string& issuer) const = 0;
  // The same, after a fetch if there may be one by now; waits for its end, for a bounded time.
  virtual KeySet refreshed(const std::string& issuer) = 0;
};

// Whose token it is. kUnauthenticated unless its algorithm is RS256 or ES256, its type none or JWT, a key of
// the issuer that it names signed it, it is meant for one of the issuer's audiences, has a subject and an
// expiry, and `now` lies between its `nbf` and `iat` (where it has them) and `exp`. Keys and key addresses
// inside the token are never used. kUnavailable where the issuer's keys are not to be had now. Messages hold
// nothing of the token but its issuer. `discovered` may be null if no issuer has discovery.
Result<TokenHolder> verifyToken(std::string_view token, std::span<const TokenIssuer> issuers, TimePoint now,
                                KeySource* discovered = nullptr);

// What the token says of itself, with the signature left unproven: for trying rules, never for a call.
Result<TokenHolder> readUnprovenToken(std::string_view token, std::span<const TokenIssuer> issuers,
                                      TimePoint now);
// The same of claims alone, as JSON.
Result<TokenHolder> readClaimsAlone(std::string_view claims, std::span<const TokenIssuer> issuers,
                                    TimePoint now);

}  // namespace kiln::access
