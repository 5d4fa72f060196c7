// The default schedule: which tile each kind of kernel gets, and why. Tuning entries will replace rows of
// this table.
#pragma once

#include "compiler_core/schedule/knobs/kernel_shape.h"

namespace kiln::schedule {

// A pure function of the shape.
Tile chooseTile(const KernelShape& shape);

}  // namespace kiln::schedule
