// The first line of a request, where RFC 9112 asks for more than Boost.Beast's parser takes: it knows
// HTTP/1.0 and HTTP/1.1 alone, and no empty line before them.
#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "api/gateway/error_json.h"

namespace kiln::gateway {

// Of the bytes before a request, how many are empty lines; those are passed over (RFC 9112 2.2).
std::size_t emptyLines(std::string_view bytes);

// `line` goes to its line feed. A higher minor version of HTTP/1 is answered as HTTP/1.1, which is written
// there (RFC 9110 2.5); for another major version the refusal comes back (RFC 9110 15.6.6). What is no
// version stays for the parser to refuse.
std::optional<HttpError> settleVersion(std::span<char> line);

}  // namespace kiln::gateway
