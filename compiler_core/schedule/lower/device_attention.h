// Attention as kiln-lower-to-linalg leaves it for devices: a kiln.call that kiln-map-to-gpu writes out.
// Private to compiler_core/schedule.
#pragma once

#include "llvm/ADT/StringRef.h"

namespace kiln::schedule {

// query, key, value and, if there is one, mask; one init [B, H, L, F] of f32. Parameters: of query, key and
// value how they are stored (FactorStorage), and the bits of the scale, an f64.
inline constexpr llvm::StringLiteral kDeviceAttention = "kiln_attention";

enum class FactorStorage { kF32 = 0, kF16 = 1, kBF16 = 2 };

// The widest value rows whose sums a block keeps in registers.
inline constexpr std::int64_t kMaxAttentionValues = 256;

}  // namespace kiln::schedule
