// The size that the evidence of a compile may have.
#pragma once

#include <cstdint>

namespace kiln {

// Bytes of evidence.json, and of manifest.json: the farm reads both in one piece, and a compile whose model
// makes them larger refuses it.
inline constexpr std::uint64_t kMaxCompileDocumentBytes = 4u << 20;

}  // namespace kiln
