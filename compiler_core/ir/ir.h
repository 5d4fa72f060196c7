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

// Argument and result attribute of @main that holds the tensor's name in the source model.
inline constexpr llvm::StringLiteral kNameAttr = "kiln.name";
// The function that is the model.
inline constexpr llvm::StringLiteral kMain = "main";
// On the module, the symbols that types may name (dims.h), an array of dictionaries in the symbols' order:
// {name, input, dim} a dimension of an input, {name, input, element} an element of an integer input, {name,
// bound} a size that kiln.truncate finds out.
inline constexpr llvm::StringLiteral kSymbolsAttr = "kiln.symbols";
// Largest payload of a constant that is not a splat.
inline constexpr std::int64_t kMaxConstantBytes = 1024;

}  // namespace kiln::ir
