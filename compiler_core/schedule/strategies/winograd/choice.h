// Whether the default schedule computes a convolution by Winograd's tiles, where it may add in any fixed
// order, and by which. A function of the shape and the target's registers alone. Private to
// compiler_core/schedule.
#pragma once

#include <optional>

#include "compiler_core/schedule/strategies/contract/strategy.h"

namespace kiln::schedule {

// How exact the default's tiles are: the root mean square of their errors is at most so many times that of
// sums in the model's order, both against exact sums. Tests measure it.
inline constexpr double kMostWinogradError = 6;
// Tiles of 4 x 4 results over fewer input channels are beyond that bound: a sum of fewer numbers has smaller
// errors of its own, while those of the transforms stay.
inline constexpr std::int64_t kLeastInputsOfFour = 32;

struct WinogradChoice {
  std::int64_t results = 0;        // of a tile along a dimension, 2 or 4
  std::vector<std::int64_t> tile;  // of a task, one size per loop
};
// For a kernel that has the knob. Nothing where sums in the model's order, as `standard` has them, are as
// fast.
std::optional<WinogradChoice> chooseWinograd(const Site& site, const Schedule& standard);

}  // namespace kiln::schedule
