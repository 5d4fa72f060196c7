// Which loops LLVM must not unroll: those over rows that may not be in cache yet. Private to
// compiler_core/schedule.
#pragma once

#include "mlir/Dialect/SCF/IR/SCF.h"

namespace kiln::schedule {

// Whether `extent` elements of `type` make a row long enough for hardware prefetching to matter. So does an
// extent that only a run knows.
bool isLongRow(mlir::OpFoldResult extent, mlir::Type type);

// Keeps LLVM from unrolling the loop. A prototype's layer norm of long rows took 1.7 times as long unrolled.
// A likely reason: processors prefetch by instruction, so one load that goes through a row is prefetched, and
// sixty-four loads that read one register of each row are not.
void disableUnrolling(mlir::scf::ForOp loop);

}  // namespace kiln::schedule
