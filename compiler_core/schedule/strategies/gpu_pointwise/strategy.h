// Operations on devices that no other strategy computes, a result per thread, as a strategy. Private to
// compiler_core/schedule.
#pragma once

#include "compiler_core/schedule/strategies/contract/strategy.h"

namespace kiln::schedule {

extern const Strategy kGpuPointwiseStrategy;

}  // namespace kiln::schedule
