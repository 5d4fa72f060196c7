// Functions of the kernel library on devices, as a strategy. Private to compiler_core/schedule.
#pragma once

#include "compiler_core/schedule/strategies/contract/strategy.h"

namespace kiln::schedule {

extern const Strategy kGpuLibraryStrategy;

}  // namespace kiln::schedule
