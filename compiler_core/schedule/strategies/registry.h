// The strategies that a kernel may be computed by. A new one is a room of its own and a line of registry.cc.
// Private to the compiler core.
#pragma once

#include "compiler_core/schedule/strategies/contract/strategy.h"

namespace kiln::schedule {

// All of them, in the order in which one is asked after the other to write an operation.
std::span<const Strategy* const> strategies();

// The rule of a knob; null: there is none of that name.
const KnobRule* ruleOf(std::string_view knob);

}  // namespace kiln::schedule
