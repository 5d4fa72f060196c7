// Sums in the defined order, as a strategy. Private to compiler_core/schedule.
#pragma once

#include "compiler_core/schedule/strategies/contract/strategy.h"

namespace kiln::schedule {

extern const Strategy kSumsStrategy;

}  // namespace kiln::schedule
