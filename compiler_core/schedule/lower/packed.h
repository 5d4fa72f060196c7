// Products that take a packed matrix (kiln.dequantise) as it is. Private to compiler_core/schedule.
#pragma once

#include "compiler_core/ir/packed/packed_ops.h"

namespace kiln::schedule {

// The packed matrix that is the right factor of `op`, also from inside a kiln.fused; null where it is none.
ir::DequantiseOp packedFactor(ir::MatmulOp op);

// Whether products alone read the matrix: then it is never made.
bool isOnlyMultiplied(ir::DequantiseOp op);

}  // namespace kiln::schedule
