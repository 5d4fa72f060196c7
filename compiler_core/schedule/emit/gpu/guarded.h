// Whether what @main does is in the form that devices run (codegen/lower outlines it). Private to
// compiler_core/schedule.
#pragma once

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace kiln::schedule {

// An error names the operation that breaks a rule:
// - beside loops over blocks there is nothing with a memory effect but allocations;
// - in a block, memory is touched by known operations alone, and control flow is loops and branches (scf.for,
// scf.if);
// - a store happens in one thread: its address, or whether it happens, depends on the thread;
// - a barrier is reached by all threads: no condition or bound around it depends on the thread.
mlir::LogicalResult verifyDeviceForm(mlir::func::FuncOp function);

}  // namespace kiln::schedule
