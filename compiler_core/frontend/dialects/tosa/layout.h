// TOSA's tensors have their channels last, kiln's second.
#pragma once

#include "compiler_core/frontend/dialects/operations/context.h"

namespace kiln::dialects::tosa {

// [N, D..., C] -> [N, C, D...] and back.
Result<Value> channelsSecond(OperationContext& op, Value value);
Result<Value> channelsLast(OperationContext& op, Value value);

// TOSA's [before, after] of each dimension in turn -> all beginnings, then all ends.
Dims padsOf(llvm::ArrayRef<std::int64_t> pairs);

}  // namespace kiln::dialects::tosa
