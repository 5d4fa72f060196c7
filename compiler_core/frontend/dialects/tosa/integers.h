// TOSA's integer arithmetic, exactly as its specification has it.
#pragma once

#include "compiler_core/frontend/dialects/operations/context.h"

namespace kiln::dialects::tosa {

// The one number of a zero point operand. kUnimplemented where a run alone knows it. 0 for floats.
Result<std::int64_t> zeroPoint(OperationContext& op, std::size_t operand, bool isUnsigned);

// Operand `index` without its zero point (operand `zero`), as elements of `accumulator`.
Result<Value> withoutZero(OperationContext& op, std::size_t index, std::size_t zero, mlir::Type accumulator);

// (value * multiplier + rounding) >> shift, all i64; `doubleRound` rounds twice where the shift is above 31,
// as the specification has it for 32-bit multipliers.
Term applyScale(OperationContext& op, const Term& value, const Term& multiplier, const Term& shift,
                bool doubleRound);

// The bounds of an integer of `width` bits.
struct IntegerBounds {
  std::int64_t low, high;
};
IntegerBounds boundsOf(unsigned width, bool isUnsigned);

}  // namespace kiln::dialects::tosa
