// Well-formed UTF-8 (RFC 3629): no overlong forms, no surrogates, nothing above U+10FFFF.
#pragma once

#include <string_view>

namespace kiln {

bool isUtf8(std::string_view text);

// The same without control characters (below U+0020, and U+007F): they would let a model forge lines of a
// log.
bool isPlainText(std::string_view text);

}  // namespace kiln
