// The `kiln` dialect: include this for its operations, attributes and enums.
// What each operation means is said in kiln_ops.td.
#pragma once

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/Interfaces/DestinationStyleOpInterface.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "compiler_core/ir/kiln_dialect.h.inc"
#include "compiler_core/ir/kiln_enums.h.inc"
#define GET_ATTRDEF_CLASSES
#include "compiler_core/ir/kiln_attrs.h.inc"
#define GET_OP_CLASSES
#include "compiler_core/ir/kiln_ops.h.inc"

namespace kiln::ir {

// The function that is the model.
inline constexpr llvm::StringLiteral kMain = "main";
// Largest payload of a constant that is not a splat.
inline constexpr std::int64_t kMaxConstantBytes = 1024;

}  // namespace kiln::ir
