// The attribute kiln.kernel: {nodes, rule, loops, schedule = {knob = value}}; ir/attributes.h has the rest of
// its members, which later passes add. Private to the compiler core.
#pragma once

#include "compiler_core/schedule/knobs/schedule.h"
#include "mlir/IR/Builders.h"

namespace kiln::schedule {

mlir::DictionaryAttr kernelInfo(mlir::MLIRContext* context, llvm::ArrayRef<std::string> nodes,
                                llvm::StringRef rule, llvm::ArrayRef<std::int64_t> loops,
                                const Schedule& schedule);

mlir::DictionaryAttr toAttribute(mlir::MLIRContext* context, const Schedule& schedule);
// Empty where there is none; what is no list of numbers is left out. `info` may be null.
Schedule scheduleOf(mlir::DictionaryAttr info);

}  // namespace kiln::schedule
