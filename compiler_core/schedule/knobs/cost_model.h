// What the cost model and the strategies that price themselves have in common. Rough on purpose; what counts
// is measured. Private to the compiler core.
#pragma once

#include <algorithm>
#include <cmath>
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

// Steps of the sum of each result, each of them two loads and a fused operation.
inline double stepsOf(const Site& site) {
  return std::max(1.0, static_cast<double>(site.shape.workPerPoint) / 3);
}

// Cycles of register blocks without what a strategy does around them.
inline double blockCycles(const CostInputs& inputs) {
  const double lanes = static_cast<double>(inputs.site.registers.bits) / 32;
  return inputs.points * stepsOf(inputs.site) / lanes * cyclesPerResult(inputs.rows, inputs.vectors);
}

// Cycles of a multiprocessor for a block of threads whose results share nothing.
inline double threadBlockCycles(const Schedule& schedule, const Site& site) {
  constexpr double kLanes = 128;  // of a multiprocessor
  double points = 1;
  for (const std::int64_t size : listOf(schedule, kTileKnob)) points *= static_cast<double>(size);
  const auto threads = static_cast<double>(numberOf(schedule, kThreadsKnob, 1));
  return std::ceil(points / threads) * threads * static_cast<double>(site.shape.workPerPoint) /
         std::min(threads, kLanes);
}

}  // namespace kiln::schedule
