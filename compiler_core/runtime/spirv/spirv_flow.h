// The paths through a module's functions. Private to this folder.
#pragma once

#include <cstdint>
#include <span>

#include "compiler_core/runtime/spirv/spirv_definitions.h"
#include "manifest/base/result.h"

namespace kiln::spirv {

// Requires of each function of a module that check() took (specification, sections 2.2.5, 2.4 and 2.16.1):
// blocks that begin with a label and end with a branch or a return, branches to labels of the function, phis
// first in their block with a value for each block that leads there, and of every operand that it is defined
// outside of functions or where all paths to its use come by. kDataLoss naming the word. Blocks that no path
// reaches may use what is above them. Time in proportion to the module's size; functions whose paths take
// more than that are kUnimplemented.
Status checkFlow(std::span<const std::uint32_t> words, const Definitions& ids);

}  // namespace kiln::spirv
