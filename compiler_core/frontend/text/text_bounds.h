// What MLIR's parser does not bound itself, checked before it sees a text.
#pragma once

#include <cstdint>
#include <string_view>

#include "manifest/base/result.h"

namespace kiln::frontend {

enum class AffineMaps : std::uint8_t {
  kRefused,
  kShort,  // at most 1024 characters each, since the parser recurses into their expressions without brackets
};

// kUnimplemented, with line and column, for text in which brackets nest deeper than 256 (the parser
// recurses), or a word or number is longer than 4 KiB outside of strings (it takes the square of that), or
// which has affine sets, affine maps that are not allowed, or NUL characters, or more than 2^31 - 1 bytes.
Status checkTextBounds(std::string_view text, AffineMaps maps);

}  // namespace kiln::frontend
