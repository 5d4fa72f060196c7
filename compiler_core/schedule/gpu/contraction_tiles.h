// What a block of threads makes of a contraction or convolution, and why: part of heuristics.h. Private to
// compiler_core/schedule.
#pragma once

#include "compiler_core/schedule/gpu/heuristics.h"

namespace kiln::schedule {

// Of kernels of the kinds kContraction (loops: batches, rows, columns) and kConvolution (images, groups,
// channels, positions). A pure function of the shape.
DeviceTile chooseContractionTile(const KernelShape& shape);

}  // namespace kiln::schedule
