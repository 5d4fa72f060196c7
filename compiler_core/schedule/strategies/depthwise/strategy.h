// Convolutions whose channels share nothing, as a strategy. Private to compiler_core/schedule.
#pragma once

#include "compiler_core/schedule/strategies/contract/strategy.h"

namespace kiln::schedule {

extern const Strategy kDepthwiseStrategy;

}  // namespace kiln::schedule
