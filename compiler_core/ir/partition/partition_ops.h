// Between kiln-partition and codegen, a model that runs on several targets is a @main of func.calls of
// @partition_0, @partition_1 ... in the order of execution, and of kiln.transfers between them.
#pragma once

#include "compiler_core/ir/ir.h"

#define GET_OP_CLASSES
#include "compiler_core/ir/partition/partition_ops.h.inc"

namespace kiln::ir {

// A string: on an operation of @main, where it goes; on a partition's function, what it is compiled for.
inline constexpr llvm::StringLiteral kTargetAttr = "kiln.target";

}  // namespace kiln::ir
