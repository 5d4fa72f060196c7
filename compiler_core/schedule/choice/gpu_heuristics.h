// The default schedule of devices: what a block of threads makes, and why. The counterpart of
// ../choice/heuristics.h, which knows the tasks of a CPU.
#pragma once

#include <string_view>

#include "compiler_core/schedule/knobs/kernel_shape.h"

namespace kiln::schedule {

// A pure function of the shape.
DeviceTile chooseDeviceTile(const KernelShape& shape);

// For one operation without anything that its results share: its results are distributed over the blocks in
// order.
struct DeviceShare {
  std::int64_t threads = 256, results = 1024;  // per block; a multiple of `threads`
  std::string_view rule, reason;
};
// `points`: results in all, 0 where only the run knows; `workPerPoint`: scalar operations for each.
DeviceShare chooseDeviceShare(std::int64_t points, std::int64_t workPerPoint);

}  // namespace kiln::schedule
