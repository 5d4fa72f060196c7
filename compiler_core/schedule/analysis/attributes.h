// What the passes of this folder tell each other on operations. Private to compiler_core/schedule and the
// pipeline.
#pragma once

#include "llvm/ADT/StringRef.h"

namespace kiln::schedule {

inline constexpr llvm::StringLiteral kGroupAttr =
    "kiln.group";  // on linalg operations: which kernel they belong to
inline constexpr llvm::StringLiteral kKernelAttr = "kiln.kernel";  // on scf.forall: what kernel_info.h says
inline constexpr llvm::StringLiteral kExtentsAttr =
    "kiln.extents";  // on linalg operations of dynamic shape: the loops' extents, a map over symbols
inline constexpr llvm::StringLiteral kShapeAttr =
    "kiln.shape";  // on arguments and results of dynamic shape: a map over symbols

}  // namespace kiln::schedule
