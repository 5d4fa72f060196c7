// Between kiln-partition and codegen, a model that runs on several targets is a @main of func.calls of
// @partition_0, @partition_1 ... in the order of execution, and of kiln.transfers between them. Partitions on
// the processor read @main's inputs where they are and write its results; what a device reads of the inputs
// is transferred from "host", what it makes of the results to it. kiln.target says of each partition what it
// is compiled for.
#pragma once

#include "compiler_core/ir/ir.h"

#define GET_OP_CLASSES
#include "compiler_core/ir/partition/partition_ops.h.inc"

namespace kiln::ir {

// In kiln.transfer instead of a target: the caller's memory, which inputs come from and outputs go to.
inline constexpr llvm::StringLiteral kCallerMemory = "host";

// Whether a target's values lie in the memory of a device rather than the processor's.
inline bool isOnDevice(llvm::StringRef target) {
  return target.starts_with("cuda:") || target.starts_with("vulkan:");
}

}  // namespace kiln::ir
