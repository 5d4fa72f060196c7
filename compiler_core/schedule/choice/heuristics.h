// The default tile of each kind of kernel, by the row of its strategy (../strategies/contract/tile_rule.h).
#pragma once

#include "compiler_core/schedule/knobs/kernel_shape.h"

namespace kiln::schedule {

// A pure function of the shape.
Tile chooseTile(const KernelShape& shape);

}  // namespace kiln::schedule
