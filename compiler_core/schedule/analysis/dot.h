// Packed dot operands (../analysis/packed_dot.h) as instructions. Private to compiler_core/schedule.
#pragma once

#include "compiler_core/schedule/analysis/packed_dot.h"
#include "compiler_core/schedule/knobs/schedule.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"

namespace kiln::schedule {

// The new sums of a product of packed operands of this kind; arguments: left, right, sums, as vectors of
// `lanes` (0: scalars). Always the instruction, so that a sum has the same bits in whatever lane it is made.
mlir::Value emitDot(mlir::OpBuilder& builder, mlir::Location loc, llvm::StringRef kind,
                    llvm::ArrayRef<mlir::Value> arguments, std::int64_t lanes);

}  // namespace kiln::schedule
