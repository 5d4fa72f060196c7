// Pieces that the syntaxes of several operations share.
#pragma once

#include "mlir/IR/OpImplementation.h"

namespace kiln::stablehlo {

using Operands = llvm::SmallVector<mlir::OpAsmParser::UnresolvedOperand>;

// `(types) -> types`: resolves the operands, adds the results. `position` is the place of the operands.
mlir::ParseResult parseFunctionType(mlir::OpAsmParser& parser, const Operands& operands,
                                    mlir::OperationState& state);
mlir::ParseResult applyFunctionType(mlir::OpAsmParser& parser, const Operands& operands,
                                    mlir::FunctionType type, mlir::OperationState& state);

// The operations whose syntax is not the common pattern, in special_syntax.cc and region_syntax.cc.
mlir::ParseResult parseConstant(mlir::OpAsmParser& parser, mlir::OperationState& state);
mlir::ParseResult parseConstantCheck(mlir::OpAsmParser& parser, mlir::OperationState& state);
mlir::ParseResult parseSlice(mlir::OpAsmParser& parser, mlir::OperationState& state);
mlir::ParseResult parseTupleElement(mlir::OpAsmParser& parser, mlir::OperationState& state);
mlir::ParseResult parseCustomCall(mlir::OpAsmParser& parser, mlir::OperationState& state);
mlir::ParseResult parseComposite(mlir::OpAsmParser& parser, mlir::OperationState& state);
mlir::ParseResult parseConvolution(mlir::OpAsmParser& parser, mlir::OperationState& state);
mlir::ParseResult parseTopK(mlir::OpAsmParser& parser, mlir::OperationState& state);
mlir::ParseResult parseReduce(mlir::OpAsmParser& parser, mlir::OperationState& state);
mlir::ParseResult parseWhile(mlir::OpAsmParser& parser, mlir::OperationState& state);
mlir::ParseResult parseScan(mlir::OpAsmParser& parser, mlir::OperationState& state);

}  // namespace kiln::stablehlo
