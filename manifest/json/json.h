// Strict JSON for documents that are hashed, signed or come from outside.
// Canonical form: UTF-8, ASCII member names in byte order, no white space, integers only (no fractions, no exponents;
// 64-bit values travel as decimal strings), strings escaped as RFC 8785 does. Source: RFC 8785 and FORMAT.md.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "manifest/base/result.h"

namespace kiln {

using Json = nlohmann::json;

struct JsonLimits {
  std::size_t bytes = 4u << 20;
  int depth = 64;
};

// Parses hostile text: refuses duplicate members, trailing bytes, depth or size beyond `limits`, invalid UTF-8.
// Errors are kInvalidArgument and name the byte offset.
Result<Json> parseJson(std::string_view text, JsonLimits limits = {});

// As parseJson, and refuses floating-point numbers and non-ASCII member names: what toCanonicalJson can write.
Result<Json> parseStrictJson(std::string_view text, JsonLimits limits = {});

// The canonical form. kInvalidArgument for values that have none (floats, non-ASCII member names).
Result<std::string> toCanonicalJson(const Json& value);

}  // namespace kiln
