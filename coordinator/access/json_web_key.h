// The public keys of a token issuer: a JSON Web Key Set. Source: RFC 7517, RFC 7518 6.2 and 6.3.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "manifest/base/result.h"
#include "signing/keys/openssl.h"

namespace kiln::access {

enum class Algorithm { kRs256, kEs256 };

// One key, for one algorithm only: a token cannot choose another.
struct JsonWebKey {
  std::string id;  // "" if it has none
  Algorithm algorithm = Algorithm::kRs256;
  std::shared_ptr<const signing::KeyHandle> key;
};

// The RSA keys (2048 to 8192 bits) and P-256 keys of the set that are for signing with RS256 or ES256; keys
// for anything else are passed over. kInvalidArgument if none is left, or one of them is malformed or too
// short.
Result<std::vector<JsonWebKey>> parseJsonWebKeys(std::string_view text);

// A set of them that nobody changes any more; null for none.
using KeySet = std::shared_ptr<const std::vector<JsonWebKey>>;

// base64url without padding, in its one canonical spelling (RFC 7515 2).
Result<std::string> fromBase64Url(std::string_view text);

}  // namespace kiln::access
