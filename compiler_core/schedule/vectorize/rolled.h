// Loops over rows that may not be in cache yet. Private to compiler_core/schedule.
#pragma once

#include "mlir/Dialect/SCF/IR/SCF.h"

namespace kiln::schedule {

// Whether `extent` elements of `type` side by side are long enough that how they are read ahead counts. An
// extent that only a run knows is.
bool isLongRow(mlir::OpFoldResult extent, mlir::Type type);

// Keeps LLVM from unrolling the loop. A prototype's layer norm of long rows took 1.7 times as long
// unrolled. A likely reason: a processor foresees what a load reads next from what the same instruction read
// before, so one that goes through a row is read ahead of, sixty-four that read one register of each row are
// not.
void keepRolled(mlir::scf::ForOp loop);

}  // namespace kiln::schedule
