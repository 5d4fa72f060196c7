// Percent-encoding in the paths and queries of requests.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "manifest/base/result.h"

namespace kiln::transcoding {

// What a query has at most.
inline constexpr std::size_t kMaxParameters = 64;

// RFC 3986 2.1, once: "%252f" is "%2f". kInvalidArgument for '%' without two hexadecimal digits, and for what
// is no UTF-8 or holds NUL: no field of a request may. `what` is named in the error.
Result<std::string> percentDecode(std::string_view text, std::string_view what);

// The parameters of "a=1&b=2", decoded, in order; '+' is a space, as forms write it. kInvalidArgument for one
// without a name or '=', and for more than kMaxParameters.
Result<std::vector<std::pair<std::string, std::string>>> parseQuery(std::string_view query);

}  // namespace kiln::transcoding
