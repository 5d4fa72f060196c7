// Register blocks, as a strategy: products, and everything on processors that no other strategy computes.
// Private to compiler_core/schedule.
#pragma once

#include "compiler_core/schedule/strategies/contract/strategy.h"

namespace kiln::schedule {

extern const Strategy kProductStrategy;

// A register holds columns of one panel of the weight.
bool fitsPanels(Sizes tile, const Site& site);

}  // namespace kiln::schedule
