// Exact arithmetic that TOSA and linalg's bodies both need and the graph has no single operation for.
#pragma once

#include "compiler_core/frontend/dialects/operations/context.h"

namespace kiln::dialects {

// Whether an element is NaN, i1: it differs from itself.
Term isNan(const Term& value);
// The same bits with another sign: of a float or an integer, as unsigned.
Term bitsOf(OperationContext& op, const Term& value);
Term bitcastTo(OperationContext& op, const Term& value, mlir::Type element);
// Leading zeros of an integer of 8 bits or more, in its own type.
Term leadingZeros(OperationContext& op, const Term& value);
// Set bits of an integer of 8 bits or more, in its own type.
Term setBits(OperationContext& op, const Term& value);
// To the nearest whole number, halves away from zero.
Term roundAwayFromZero(OperationContext& op, const Term& value);
// The magnitude of `size` with the sign bit of `sign`.
Term copySign(OperationContext& op, const Term& size, const Term& sign);
// As unsigned numbers, whatever the sign of the type.
Term unsignedBinary(OperationContext& op, ir::BinaryKind kind, const Term& a, const Term& b);
// max or min in which a number wins over NaN.
Term ignoringNan(ir::BinaryKind kind, const Term& a, const Term& b);

// Between these bounds, which must fit the element type; exact for all integers.
Term clampInteger(OperationContext& op, const Term& value, std::int64_t low, std::int64_t high);

}  // namespace kiln::dialects
