// Convolutions of 3x3 by Winograd's tiles, as a strategy. Private to compiler_core/schedule.
#pragma once

#include "compiler_core/schedule/strategies/contract/strategy.h"

namespace kiln::schedule {

extern const Strategy kWinogradStrategy;

}  // namespace kiln::schedule
