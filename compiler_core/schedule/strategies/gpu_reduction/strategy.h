// Reductions on devices that several threads share, as a strategy. Private to compiler_core/schedule.
#pragma once

#include "compiler_core/schedule/strategies/contract/strategy.h"

namespace kiln::schedule {

extern const Strategy kGpuReductionStrategy;

}  // namespace kiln::schedule
