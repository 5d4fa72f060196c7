// What a schedule says of Winograd's tiles. Private to the compiler core.
#pragma once

#include "compiler_core/schedule/knobs/schedule.h"

namespace kiln::schedule {

// As it stands in signed records. Other sums than the model's, so only where numerics.reassociation is not
// "off".
inline constexpr std::string_view kWinogradKnob = "winograd";

struct WinogradKnobs {
  // Of a convolution of 3x3: results of a tile along a dimension that the transforms make, 2 or 4; 0: none,
  // every result is the sum of its products. The weights then lie in the artifact in the Winograd domain
  // (tiles.h).
  std::int64_t results = 0;

  static WinogradKnobs of(const Schedule& schedule) { return {numberOf(schedule, kWinogradKnob, 0)}; }
};

}  // namespace kiln::schedule
