// What a grant asks of a token's claims beside issuer and subject.
#pragma once

#include <string>
#include <vector>

#include "coordinator/access/identity.h"
#include "manifest/json/reader.h"

namespace kiln::access {

inline constexpr std::size_t kMaxConditions = 16;     // of a grant
inline constexpr std::size_t kMaxPatternBytes = 512;  // of a condition
inline constexpr std::size_t kMaxClaimName = 128;
inline constexpr std::size_t kMaxClaimValue = 1024;  // a longer one meets no condition

// The claim `name` is a text that is `pattern`, as of claimMatches().
struct ClaimCondition {
  std::string name, pattern;
};

// Reads the member "claims" of a grant's token: an object of texts. kInvalidArgument for none or too many,
// for claims that every token is judged by anyway (iss, sub, aud, exp, nbf, iat), and for what is too long.
Result<std::vector<ClaimCondition>> readClaimConditions(ObjectReader& token);

// Whether one of them alone says whose pipelines are meant. On an issuer that serves many, such as a public
// CI system, a branch or an environment is a word that anybody may choose; a repository, a project or an
// owner is not. The owner must be written out: '*' comes after a '/' or a ':' if at all.
bool nameAnOwner(const std::vector<ClaimCondition>& conditions);

// "" if all of them hold, else what the first that does not lacks, fit for a log and a terminal.
std::string unmet(const std::vector<ClaimCondition>& conditions, const TokenHolder& who);

}  // namespace kiln::access
