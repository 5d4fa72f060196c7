// The default tiles of the kinds of kernels, as rows of a table; ../../choice cuts by them. Private to
// compiler_core/schedule.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <vector>

#include "compiler_core/schedule/knobs/schedule.h"

namespace kiln::schedule {

// A loop is cut at most down to its `least` (0: only as far as `most` says) and at least to its `most` (0: no
// limit), in multiples of `unit` where the extent allows. `points`: `most` counts the points of the loops
// inside as well.
struct LoopRule {
  std::int64_t least = 1, most = 0, unit = 1;
  bool points = false;
};

// Of a kind of kernel on processors: what one task makes.
struct TileRule {
  KernelKind kind;
  std::string_view name;
  LoopRule loops[3];   // counted from the innermost
  std::int64_t work;   // operations that a task keeps
  std::int64_t tasks;  // so many are enough to leave these loops whole (0: the more the better)
  std::string_view reason;
};

// Of a kind of kernel on devices: what one block makes. Each loop is cut to a divisor of its extent of at
// most `most` (0: it stays whole), while the block has more than `results` of them in all.
struct DeviceTileRule {
  KernelKind kind;
  std::string_view name;
  std::int64_t most[3];  // counted from the innermost; the last counts for all that are further out
  std::int64_t results, threads;
  std::string_view reason;
};

// Sizes worth trying where the innermost loop stays as it is: some around the default's.
inline std::vector<std::int64_t> sizesAround(const Site& site, std::size_t loop, std::int64_t chosen) {
  const std::size_t rank = site.shape.loops.size();
  if (loop + 1 == rank && rank != 1) return {};
  return {std::max<std::int64_t>(1, chosen / 4), std::max<std::int64_t>(1, chosen / 2), chosen * 2,
          chosen * 4};
}

}  // namespace kiln::schedule
