// Formulas over floats that several families use.
#pragma once

#include "compiler_core/frontend/stablehlo/operations/context.h"

namespace kiln::stablehlo {

// Whether the sign bit is set, i1: true for -0 and for negative integers.
Term isNegative(OperationContext& op, const Term& value);
// The magnitude of `size` with the sign bit of `sign`; both of one float type.
Term copySign(OperationContext& op, const Term& size, const Term& sign);
// A formula of several steps over f16 and bf16 is calculated in f32 and rounded once.
Term inFloat32(OperationContext& op, const Values& operands,
               llvm::function_ref<Term(const std::vector<Term>&)> formula);

}  // namespace kiln::stablehlo
