// What the access file says of tokens: their issuers, and whom a grant means by one.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "coordinator/access/claim_conditions.h"
#include "coordinator/access/token.h"
#include "manifest/json/reader.h"

namespace kiln::access {

inline constexpr std::size_t kMaxAudiences = 8;
inline constexpr std::size_t kMaxDiscovered = 16;  // each has a thread

// A file that the access file names beside itself.
struct NamedFiles {
  std::function<Result<std::string>(const std::string&)> read;  // its text
  std::function<std::string(const std::string&)> path = [](const std::string& name) { return name; };
};

// An entry of "tokenIssuers", with its key set or with what discovery needs.
Result<TokenIssuer> readTokenIssuer(ObjectReader& entry, const NamedFiles& files);

// A "token" of a grant. The subject of `who` is a pattern, "" for any.
struct TokenGrant {
  TokenHolder who;
  std::vector<ClaimCondition> claims;
};
// kInvalidArgument also for one that would mean everybody whom the issuer serves.
Result<TokenGrant> readTokenGrant(ObjectReader token, const std::vector<TokenIssuer>& issuers);

}  // namespace kiln::access
