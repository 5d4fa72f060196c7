// Finds the keys of an issuer by what it publishes of itself. Source: OpenID Connect Discovery 1.0, sections
// 3 and 4; RFC 8414.
#pragma once

#include <functional>
#include <stop_token>
#include <string>

#include "coordinator/access/token.h"

namespace kiln::access {

inline constexpr std::size_t kMaxDocumentBytes = 64 << 10;
inline constexpr std::size_t kMaxFetchedKeys = 256 << 10;

// GETs what lies at an address, of so many bytes at most, from a server that has a certificate of the
// authorities in the file `ca` ("": of the system's). Follows no redirect; anything but status 200 is an
// error. Ends within ten seconds, and soon after `stop` is asked for. Thread safe.
using FetchDocument = std::function<Result<std::string>(const std::string& url, std::size_t limit,
                                                        const std::string& ca, const std::stop_token& stop)>;

// FetchDocument by libcurl.
Result<std::string> fetchDocument(const std::string& url, std::size_t limit, const std::string& ca,
                                  const std::stop_token& stop);

// Reads the issuer's document and the key set that it names. The document must be of exactly this issuer. Its
// jwks_uri may be on another host, as it is with issuers of the field: the document came from the issuer, and
// what lies there counts for tokens of this issuer alone. Errors name the address.
Result<KeySet> fetchKeys(const TokenIssuer& issuer, const FetchDocument& fetch, const std::stop_token& stop);

}  // namespace kiln::access
