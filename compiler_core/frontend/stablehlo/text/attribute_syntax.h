// The custom syntax of StableHLO's attributes, into builtin ones: structs become dictionaries of their
// fields, an enumeration's value an opaque attribute with its name. Source: StableHLO's dialect (stablehlo,
// chlo), version 1.20.0.
#pragma once

#include <string>

#include "mlir/IR/OpImplementation.h"

namespace kiln::stablehlo {

// What stands after "#stablehlo.": `dot<lhs_contracting_dimensions = [1], ...>`, or inside "#stablehlo<...>":
// `precision HIGHEST`. Null, with the error emitted, for what is not known.
mlir::Attribute parseDialectAttribute(mlir::DialectAsmParser& parser, llvm::StringRef dialect);

// `[0, 1]` as array<i64: 0, 1>, `[DEFAULT, HIGH]` as a list of enumerations' values, `[[0, 1], [2, 3]]` flat,
// `[true, false]` as integers.
mlir::ParseResult parseList(mlir::AsmParser& parser, mlir::Attribute& list);

// `<key = value, ...>` as a dictionary.
mlir::ParseResult parseStruct(mlir::AsmParser& parser, mlir::Attribute& fields);

// `[b, 0, f]x[0, i, o]->[b, 0, f]` as the nine dimension attributes of a convolution.
mlir::ParseResult parseConvolutionDimensions(mlir::AsmParser& parser, mlir::NamedAttrList& dimensions);

// An enumeration's value, and its name again; empty if `attribute` is something else.
mlir::Attribute enumerated(mlir::MLIRContext* context, llvm::StringRef name);
llvm::StringRef enumeratedName(mlir::Attribute attribute);

}  // namespace kiln::stablehlo
