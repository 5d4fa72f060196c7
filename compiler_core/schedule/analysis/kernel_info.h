// The attribute kiln.kernel: {nodes, rule, loops, schedule = {knob = value}}, and where there is one its
// signature and the entry that its schedule came from. Later passes add "tasks" and, on devices, what is
// found out there. Private to the compiler core.
#pragma once

#include "compiler_core/schedule/choice/schedule.h"
#include "mlir/IR/Builders.h"

namespace kiln::schedule {

inline constexpr llvm::StringLiteral kScheduleAttr = "schedule";
inline constexpr llvm::StringLiteral kSignatureAttr = "signature";  // "sha256:…" of signature.h
inline constexpr llvm::StringLiteral kEntryAttr = "tuned";          // digest of the tuning entry

mlir::DictionaryAttr kernelInfo(mlir::MLIRContext* context, llvm::ArrayRef<std::string> nodes,
                                llvm::StringRef rule, llvm::ArrayRef<std::int64_t> loops,
                                const Schedule& schedule);

mlir::DictionaryAttr toAttribute(mlir::MLIRContext* context, const Schedule& schedule);
// Empty where there is none; what is no list of numbers is left out. `info` may be null.
Schedule scheduleOf(mlir::DictionaryAttr info);

}  // namespace kiln::schedule
