// Packed dot operands: 32 bits hold steps of a sum that follow each other, the first in the lowest bits, as
// the dot product instructions of processors take them. Private to compiler_core/schedule and the pipeline.
#pragma once

#include <cstdint>

#include "llvm/ADT/StringRef.h"

namespace kiln::schedule {

// Which of them a target has.
struct DotProducts {
  bool bytes = false;  // four steps of an unsigned and a signed byte, exact sums in i32 that wrap
  bool bf16 = false;   // two steps of bf16, sums in f32; order, rounding and subnormals are the instruction's
  bool any() const { return bytes || bf16; }
};

// Kinds of sums over products of packed operands: what kiln.dot says.
inline constexpr llvm::StringLiteral kUnsignedBySigned = "u8 by i8", kSignedByUnsigned = "i8 by u8",
                                     kBf16ByBf16 = "bf16";

// Steps of the sum in a packed operand.
inline constexpr std::int64_t kByteSteps = 4, kBf16Steps = 2;

}  // namespace kiln::schedule
