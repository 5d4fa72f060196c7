// Which kernels and tasks may be made of Winograd's tiles. Private to compiler_core/schedule.
#pragma once

#include <string>

#include "compiler_core/schedule/strategies/contract/strategy.h"

namespace kiln::schedule {

// The note on a kernel's shape: the input channels of a convolution that may be computed so; 0: it may not.
std::int64_t winogradInputs(const KernelShape& shape);

// Whether the kernel has the knob.
bool takesWinograd(const Site& site);

// Why a task of such a kernel cannot be made of tiles of `results`; "" where it can.
std::string winogradTrouble(std::int64_t results, Sizes tile, const Site& site);

}  // namespace kiln::schedule
