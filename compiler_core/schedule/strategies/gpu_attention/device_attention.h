// Attention as kiln-lower-to-linalg leaves it for devices: a kiln.call that kiln-map-to-gpu writes out.
// Private to compiler_core/schedule.
#pragma once

#include "llvm/ADT/StringRef.h"
#include "mlir/IR/Operation.h"

namespace kiln::schedule {

class Lowering;

// query, key, value and, if there is one, mask; one init [B, H, L, F] of f32. Parameters: of query, key and
// value how they are stored (FactorStorage), and the bits of the scale, an f64.
inline constexpr llvm::StringLiteral kDeviceAttention = "kiln_attention";

enum class FactorStorage { kF32 = 0, kF16 = 1, kBF16 = 2 };

// The widest value rows whose sums a block keeps in registers.
inline constexpr std::int64_t kMaxAttentionValues = 256;

// The result of kiln.attention as such a call; null for other operations, and for attention that has no such
// form: of other elements than f32 and of rows that are wider.
mlir::Value lowerAttention(Lowering& lowering, mlir::Operation* op);

}  // namespace kiln::schedule
