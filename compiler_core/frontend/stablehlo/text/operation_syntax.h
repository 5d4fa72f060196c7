// The custom syntax of StableHLO's operations, for MLIR's parser. Most are one pattern: operands and `name =
// value` between commas, an attribute dictionary, and types; tables say what a name means. The others have
// functions of their own. Source: StableHLO's dialect (stablehlo, chlo, check, interpreter), version 1.20.0.
#pragma once

#include "mlir/IR/OpImplementation.h"

namespace kiln::stablehlo {

// Whether parseOperation() knows the custom syntax of "stablehlo.add".
bool hasOperationSyntax(llvm::StringRef name);

// Parses what follows the operation's name into `state`, whose name is set.
mlir::ParseResult parseOperation(mlir::OpAsmParser& parser, mlir::OperationState& state);

}  // namespace kiln::stablehlo
