// What holds of every Program, whoever read it: the last step of both readers.
#pragma once

#include "compiler_core/frontend/stablehlo/program/program.h"

namespace kiln::stablehlo {

// The deepest that regions nest in a Program, a function's body being the first.
inline constexpr int kMaxRegionDepth = 64;

// kInvalidArgument, with function and operation, unless: functions have different names, which are
// names (name.h); values are defined once, before their uses and around them, and have types; each region
// ends in its only "return", which has as many values as the function has results where it is a body. A
// region that nests too deep is kUnimplemented.
Status validate(const Program& program);

// "operation 12 (dot_general)": how errors name a place inside a region.
std::string operationPlace(std::size_t index, std::string_view name);

}  // namespace kiln::stablehlo
