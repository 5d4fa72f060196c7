// Which form of MLIR's own dialects some bytes are, by their content. No MLIR.
#pragma once

#include <cstdint>
#include <string_view>

#include "manifest/base/digest.h"

namespace kiln::dialects {

enum class Form : std::uint8_t { kNone, kText, kBytecode };

// Text that begins as a module does and names TOSA, linalg or what stands beside them; MLIR's bytecode of any
// producer. Programs of StableHLO, which look alike, are asked for first (frontends.cc).
Form formOf(Bytes bytes);
bool recognises(Bytes bytes);

// Who wrote the bytecode, from its header (magic, version as a varint, text up to a NUL); "" where there is
// no such text within 256 bytes.
std::string_view producerOf(Bytes bytes);

}  // namespace kiln::dialects
