// Functions of complex numbers, element by element, from functions of reals.
#pragma once

#include <span>
#include <string_view>

#include "compiler_core/frontend/stablehlo/complex/writer.h"

namespace kiln::stablehlo {

using ComplexUnary = Parts (*)(const Parts& z);
using ComplexBinary = Parts (*)(const Parts& a, const Parts& b);

// By the operation's name; null where there is none.
ComplexUnary complexUnary(std::string_view name);
ComplexBinary complexBinary(std::string_view name);

// Without overflow on the way.
Real magnitude(const Parts& z);
// Equal in both parts.
Real isEqual(const Parts& a, const Parts& b);

}  // namespace kiln::stablehlo
