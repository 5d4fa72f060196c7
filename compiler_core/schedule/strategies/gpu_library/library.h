// Functions of the kernel library on devices. Private to compiler_core/schedule.
#pragma once

#include "compiler_core/schedule/emit/gpu/emit.h"

namespace kiln::schedule {

// kiln.call, where a function of the kernel library has a form for threads: running sums and
// arg-reductions a thread per line, scatters a thread per result. `positions` are what a Share counts.
bool hasThreadForm(ir::CallOp call);
mlir::OpFoldResult positions(mlir::OpBuilder& builder, ir::CallOp call);
void emitCall(mlir::RewriterBase& rewriter, ir::CallOp call, const BlockThread& thread,
              const Share& share = {});

}  // namespace kiln::schedule
