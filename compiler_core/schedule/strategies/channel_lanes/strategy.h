// Convolutions whose channels lie along the lanes, as a strategy. Private to compiler_core/schedule.
#pragma once

#include "compiler_core/schedule/strategies/contract/strategy.h"

namespace kiln::schedule {

extern const Strategy kChannelLanesStrategy;

// Whether a convolution whose weights may lie in panels has channels along the lanes, not positions, unless a
// schedule says otherwise.
bool putsChannelsAlongLanes(const KernelShape& shape);

// A task has whole panels of channels.
bool fitsChannelLanes(Sizes tile, const Site& site);

// The default for a tile: channels along the lanes.
bool takesChannelLanes(Sizes tile, const Site& site);

}  // namespace kiln::schedule
