// Strict JSON for documents that are hashed, signed or come from outside.
// Canonical form: UTF-8, ASCII member names in byte order, no white space, integers only, within +-(2^53-1)
// (no fractions, no exponents; 64-bit values travel as decimal strings), strings escaped as RFC 8785 does.
// Source: RFC 8785 and FORMAT.md.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "manifest/base/result.h"

namespace kiln {

using Json = nlohmann::json;

// The largest integer that every JSON reader keeps exactly (RFC 7493).
inline constexpr std::int64_t kMaxJsonInteger = (std::int64_t{1} << 53) - 1;

struct JsonLimits {
  std::size_t bytes = 4u << 20;
  int depth = 64;
};

// Parses hostile text: refuses duplicate members, trailing bytes, depth or size beyond `limits`, invalid
// UTF-8. Errors are kInvalidArgument and name the byte offset.
Result<Json> parseJson(std::string_view text, JsonLimits limits = {});

// As parseJson, and refuses floating-point numbers, integers beyond +-(2^53-1) and non-ASCII member names:
// what toCanonicalJson can write.
Result<Json> parseStrictJson(std::string_view text, JsonLimits limits = {});

// As parseStrictJson, and refuses text that is not itself the canonical form.
Result<Json> parseCanonicalJson(std::string_view text, JsonLimits limits = {});

// The canonical form. kInvalidArgument for values that have none (floats, large integers, non-ASCII member
// names, strings that are not UTF-8, nesting beyond 64).
Result<std::string> toCanonicalJson(const Json& value);

}  // namespace kiln
