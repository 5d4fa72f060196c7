// Expressions over symbolic sizes from the text that torch.export writes: sympy's srepr(), such as
// "Mul(Integer(32), Symbol('s21', positive=True, integer=True))".
#pragma once

#include <string_view>

#include "compiler_core/frontend/torch/program/expression.h"
#include "manifest/base/result.h"

namespace kiln::torch {

// What is well-formed but not served here is Expression::Kind::kOther. kInvalidArgument, which names the
// character, for other texts, for more than 64 KiB, a depth beyond 64 and numbers beyond 64 bits.
Result<Expression> parseExpression(std::string_view text);

}  // namespace kiln::torch
