// What Winograd's tiles cost, for whoever compares schedules: the tuner's search, and the default's choice
// (choice.h). Estimates in cycles of one core; the constants are fitted over the measurements of
// ../../CONVOLUTIONS.md. Pure. Private to compiler_core/schedule.
#pragma once

#include <cstdint>

#include "compiler_core/schedule/strategies/winograd/tiles.h"

namespace kiln::schedule {

// One task of a convolution that is computed by tiles.
struct WinogradTask {
  WinogradTiles tiles;
  double inputs = 1, results = 1;      // channels: of the image, and of the task's results
  double channels = 1;                 // of all results
  double passes = 1;                   // tasks that use the same weights, one after the other
  double lanes = 8;                    // of a register
  double rows = 6, vectors = 2;        // of a register block of the products
  double run = 512;                    // products that are added before sums go back to memory
  double l1 = 32 << 10, l2 = 1 << 20;  // bytes of a core's caches
};

double taskCycles(const WinogradTask& task);

}  // namespace kiln::schedule
