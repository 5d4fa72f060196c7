// Whether text is well-formed UTF-8 without control characters: what may be a name in a message, a symbol or
// JSON.
#pragma once

#include <string_view>

namespace kiln::onnx {

// RFC 3629: no overlong forms, no surrogates, nothing above U+10FFFF. Control characters below U+0020 and
// U+007F are refused too: they would let a model forge lines of a log.
bool isUtf8(std::string_view text);

}  // namespace kiln::onnx
