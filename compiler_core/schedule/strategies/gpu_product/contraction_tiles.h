// Chooses the tile that a block of threads makes of a contraction or convolution, and says why: part of
// gpu_heuristics.h. Private to compiler_core/schedule.
#pragma once

#include <span>
#include <string>

#include "compiler_core/schedule/knobs/kernel_shape.h"

namespace kiln::schedule {

// Fewer rows, columns or steps of a block than this share a panel's other side too seldom to pay for it: each
// result is then one thread's, summed up in the order of the model.
inline constexpr std::int64_t kFewToShare = 4;

// Chooses for kernels of the kinds kContraction (loops: batches, rows, columns) and kConvolution (images,
// groups, channels, positions). A pure function of the shape.
DeviceTile chooseContractionTile(const KernelShape& shape);

// Why a tile of such a kernel could give a sum another order than the tile above, which tensor cores have: a
// block shares panels where that one does, in every tile. "" where it has the same. `tile`: a size from 1 on
// per loop.
std::string reordering(const KernelShape& shape, std::span<const std::int64_t> tile);

}  // namespace kiln::schedule
