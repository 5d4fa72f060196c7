// Which addresses an issuer may have. Source: OpenID Connect Discovery 1.0, section 3.
#pragma once

#include <string>

#include "manifest/base/result.h"

namespace kiln::access {

inline constexpr std::size_t kMaxIssuerUrl = 512;

// kInvalidArgument unless it is https://HOST[:PORT][/PATH] without user, query and fragment; with
// `loopbackHttp` also http on a loopback host.
Status checkIssuerUrl(const std::string& url, bool loopbackHttp);

// The same for a key set's, which may have a query.
Status checkKeysUrl(const std::string& url, bool loopbackHttp);

}  // namespace kiln::access
