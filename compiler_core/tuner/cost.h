// The cost model of schedules: orders the search and drops what cannot pay. Rough on purpose; what counts is
// measured.
#pragma once

#include "compiler_core/schedule/choice/schedule.h"

namespace kiln::tuner {

struct Machine {
  unsigned threads = 1;
  std::int64_t l1 = 32 << 10, l2 = 1 << 20;  // bytes of one core's caches
  unsigned multiprocessors = 128;            // of a device, at least one: about as many as large ones have
};

// Into how many tasks, on a device blocks, the schedule cuts the kernel.
double tasksOf(const Schedule& schedule, const schedule::Site& site);

// In cycles of one core, of a device in those of a multiprocessor; less is better. infinity: not worth making
// (accumulators that do not fit the registers).
double estimatedCycles(const Schedule& schedule, const schedule::Site& site, const Machine& machine);

}  // namespace kiln::tuner
