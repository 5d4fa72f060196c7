// Attention on devices: one kernel whose scores never exist all at once. Private to compiler_core/schedule.
//
// A block makes the results of some queries of one head. It goes through the keys tile by tile and keeps, for
// each query, the largest score so far and the sum of weights relative to it; when a larger score comes, what
// was added up before is scaled down to it. So shared memory is the same at any number of keys.
#pragma once

#include "compiler_core/ir/ir.h"
#include "compiler_core/schedule/emit/gpu/emit.h"
#include "compiler_core/schedule/strategies/gpu_attention/device_attention.h"

namespace kiln::schedule {

// Replaces a call of kDeviceAttention on buffers by a mapped loop over blocks, described in kiln.kernel.
void emitAttention(mlir::RewriterBase& rewriter, ir::CallOp call, const GpuOptions& options);

}  // namespace kiln::schedule
