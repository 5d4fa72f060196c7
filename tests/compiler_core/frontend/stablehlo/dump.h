// A Program as text, for comparisons: two that say the same have the same text, whatever they were read from.
#pragma once

#include <string>

#include "compiler_core/frontend/stablehlo/program/program.h"

namespace kiln::stablehlo::test {

// Without form, producer and locations of operations. One line for each operation; literals of more than 32
// bytes by their digest.
std::string dump(const Program& program);

}  // namespace kiln::stablehlo::test
