// Attention on processors, whose two products share a block of queries, as a strategy. Private to
// compiler_core/schedule.
#pragma once

#include "compiler_core/schedule/strategies/contract/strategy.h"

namespace kiln::schedule {

extern const Strategy kAttentionStrategy;

}  // namespace kiln::schedule
