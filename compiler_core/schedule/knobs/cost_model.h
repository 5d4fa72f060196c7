// What the cost model and the strategies that price themselves have in common. Rough on purpose; what counts
// is measured. Private to the compiler core.
#pragma once

#include <algorithm>
#include <limits>

#include "compiler_core/schedule/knobs/block_knobs.h"

namespace kiln::schedule {

inline constexpr double kNever = std::numeric_limits<double>::infinity();  // not worth making
inline constexpr double kElementBytes = 4;                                 // most kernels are of f32

// A product on a processor under a schedule.
struct CostInputs {
  const Schedule& schedule;
  const Site& site;
  const BlockKnobs& knobs;  // of the schedule
  double l1, l2;            // bytes of a core's caches
  double points;            // results of the kernel
  double rows, vectors;     // of a register block
};

// Cycles of one step of a register block, per result: two fused operations and two loads in a cycle, and a
// chain of sums that takes four cycles per link.
inline double cyclesPerResult(double rows, double vectors) {
  const double sums = rows * vectors;
  return std::max({sums / 2, (rows + vectors) / 2, 4.0}) / sums;
}

}  // namespace kiln::schedule
