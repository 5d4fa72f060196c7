#include "compiler_core/frontend/stablehlo/text/operation_syntax.h"

#include "compiler_core/frontend/stablehlo/program/schema.h"
#include "compiler_core/frontend/stablehlo/text/attribute_syntax.h"
#include "compiler_core/frontend/stablehlo/text/operation_parts.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinTypes.h"

namespace kiln::stablehlo {
namespace {

using mlir::failure;
using mlir::OpAsmParser;
using mlir::OperationState;
using mlir::ParseResult;
using mlir::success;

using Parse = ParseResult (*)(OpAsmParser&, OperationState&);

struct Special {
  llvm::StringLiteral operation;
  Parse parse;
};
constexpr Special kSpecials[] = {
    {"stablehlo.constant", parseConstant},
    {"chlo.constant", parseConstant},
    {"check.expect_eq_const", parseConstantCheck},
    {"check.expect_almost_eq_const", parseConstantCheck},
    {"stablehlo.slice", parseSlice},
    {"stablehlo.get_tuple_element", parseTupleElement},
    {"stablehlo.custom_call", parseCustomCall},
    {"stablehlo.composite", parseComposite},
    {"stablehlo.convolution", parseConvolution},
    {"stablehlo.dynamic_conv", parseConvolution},
    {"chlo.top_k", parseTopK},
    {"stablehlo.reduce", parseReduce},
    {"stablehlo.while", parseWhile},
    {"chlo.scan", parseScan},
};

// `key = value` in the syntax of an operation is `attribute`; of a pair `[..] x [..]`, the first list is, and
// the second one is `second`.
struct Keyword {
  llvm::StringLiteral operation, key, attribute, second = llvm::StringLiteral("");
};
constexpr Keyword kKeywords[] = {
    {"stablehlo.broadcast", "sizes", "broadcast_sizes"},
    {"stablehlo.broadcast_in_dim", "dims", "broadcast_dimensions"},
    {"stablehlo.cholesky", "lower", "lower"},
    {"stablehlo.concatenate", "dim", "dimension"},
    {"stablehlo.dot", "precision", "precision_config"},
    {"stablehlo.dot_general", "batching_dims", "lhs_batching_dimensions", "rhs_batching_dimensions"},
    {"stablehlo.dot_general", "contracting_dims", "lhs_contracting_dimensions", "rhs_contracting_dimensions"},
    {"stablehlo.dot_general", "precision", "precision_config"},
    {"stablehlo.dot_general", "algorithm", "algorithm"},
    {"stablehlo.dynamic_broadcast_in_dim", "dims", "broadcast_dimensions"},
    {"stablehlo.dynamic_iota", "dim", "iota_dimension"},
    {"stablehlo.dynamic_slice", "sizes", "slice_sizes"},
    {"stablehlo.einsum", "config", "einsum_config"},
    {"stablehlo.fft", "type", "fft_type"},
    {"stablehlo.fft", "length", "fft_length"},
    {"stablehlo.get_dimension_size", "dim", "dimension"},
    {"stablehlo.iota", "dim", "iota_dimension"},
    {"stablehlo.pad", "low", "edge_padding_low"},
    {"stablehlo.pad", "high", "edge_padding_high"},
    {"stablehlo.pad", "interior", "interior_padding"},
    {"stablehlo.reduce_precision", "format", "format"},
    {"stablehlo.reverse", "dims", "dimensions"},
    {"stablehlo.rng", "distribution", "rng_distribution"},
    {"stablehlo.rng_bit_generator", "algorithm", "rng_algorithm"},
    {"stablehlo.set_dimension_size", "dim", "dimension"},
    {"stablehlo.transpose", "dims", "permutation"},
    {"stablehlo.unary_einsum", "config", "einsum_config"},
    {"check.expect_almost_eq", "tolerance", "tolerance"},
    {"check.expect_close", "max_ulp_difference", "max_ulp_difference"},
    {"check.expect_close", "min_ulp_difference", "min_ulp_difference"},
    {"check.expect_serialized_eq", "probe_id", "probe_id"},
    {"check.expect_serialized_eq", "iter", "iter"},
    {"interpreter.probe", "probe_id", "probe_id"},
};

const Keyword* findKeyword(llvm::StringRef operation, llvm::StringRef key) {
  for (const Keyword& keyword : kKeywords)
    if (keyword.operation == operation && keyword.key == key) return &keyword;
  return nullptr;
}

// e5m10: bits of the exponent, bits of the mantissa.
ParseResult addFormat(OpAsmParser& parser, llvm::SMLoc place, llvm::StringRef format, OperationState& state) {
  std::int64_t exponent = 0, mantissa = 0;
  llvm::StringRef rest = format;
  if (!rest.consume_front("e") || rest.consumeInteger(10, exponent) || !rest.consume_front("m") ||
      rest.consumeInteger(10, mantissa) || !rest.empty())
    return parser.emitError(place, "expected a format such as e5m10");
  state.addAttribute("exponent_bits", parser.getBuilder().getI64IntegerAttr(exponent));
  state.addAttribute("mantissa_bits", parser.getBuilder().getI64IntegerAttr(mantissa));
  return success();
}

// A value that begins with a word: a boolean, or an enumeration's.
mlir::Attribute wordValue(OpAsmParser& parser, llvm::StringRef word) {
  if (word == "true" || word == "false") return parser.getBuilder().getBoolAttr(word == "true");
  return enumerated(parser.getContext(), word);
}

ParseResult parseScalar(OpAsmParser& parser, const Keyword& keyword, OperationState& state) {
  const llvm::SMLoc place = parser.getCurrentLocation();
  std::string text;
  if (succeeded(parser.parseOptionalString(&text))) {
    state.addAttribute(keyword.attribute, parser.getBuilder().getStringAttr(text));
    return success();
  }
  llvm::StringRef word;
  if (succeeded(parser.parseOptionalKeyword(&word))) {
    if (keyword.key == "format") return addFormat(parser, place, word, state);
    state.addAttribute(keyword.attribute, wordValue(parser, word));
    return success();
  }
  std::int64_t integer = 0;
  if (const auto parsed = parser.parseOptionalInteger(integer); parsed.has_value()) {
    state.addAttribute(keyword.attribute, parser.getBuilder().getI64IntegerAttr(integer));
    return *parsed;
  }
  double number = 0;
  if (parser.parseFloat(number)) return failure();
  state.addAttribute(keyword.attribute, parser.getBuilder().getF64FloatAttr(number));
  return success();
}

bool hasListValue(const Keyword& keyword) {
  constexpr llvm::StringLiteral kLists[] = {"sizes", "dims", "precision", "length",
                                            "low",   "high", "interior"};
  return llvm::is_contained(kLists, keyword.key);
}

ParseResult parseKeywordValue(OpAsmParser& parser, const Keyword& keyword, OperationState& state) {
  mlir::Attribute value, second;
  if (keyword.attribute == "algorithm" || hasListValue(keyword)) {
    if (keyword.attribute == "algorithm" ? parseStruct(parser, value) : parseList(parser, value))
      return failure();
    state.addAttribute(keyword.attribute, value);
    return success();
  }
  if (keyword.second.empty()) return parseScalar(parser, keyword, state);
  if (parseList(parser, value) || parser.parseKeyword("x") || parseList(parser, second)) return failure();
  state.addAttribute(keyword.attribute, value);
  state.addAttribute(keyword.second, second);
  return success();
}

// What stands between two commas: an operand, `key = value`, or compare's words.
ParseResult parseItem(OpAsmParser& parser, OperationState& state, Operands& operands) {
  OpAsmParser::UnresolvedOperand operand;
  if (const auto parsed = parser.parseOptionalOperand(operand); parsed.has_value()) {
    operands.push_back(operand);
    return *parsed;
  }
  const llvm::StringRef operation = state.name.getStringRef();
  const llvm::SMLoc place = parser.getCurrentLocation();
  llvm::StringRef word;
  if (parser.parseKeyword(&word)) return failure();
  if (operation == "stablehlo.compare") {
    state.addAttribute(operands.empty() ? "comparison_direction" : "compare_type",
                       enumerated(parser.getContext(), word));
    return success();
  }
  const Keyword* keyword = findKeyword(operation, word);
  if (!keyword) return parser.emitError(place, "'") << word << "' is not known in " << operation;
  return failure(parser.parseEqual() || parseKeywordValue(parser, *keyword, state));
}

// Operands and results from a list of types that is no function type.
ParseResult applyTypes(OpAsmParser& parser, llvm::SMLoc place, const Operands& operands,
                       llvm::ArrayRef<mlir::Type> types, OperationState& state) {
  const llvm::StringRef operation = state.name.getStringRef();
  llvm::SmallVector<mlir::Type> inputs(types), results;
  const bool hasResults = operation != "stablehlo.return" && !operation.starts_with("check.expect_") &&
                          operation != "interpreter.print";
  if (hasResults) results.push_back(types.back());
  if (operation == "stablehlo.optimization_barrier") {
    results.assign(types.begin(), types.end());
  } else if (operation == "stablehlo.tuple" && types.size() == 1 && llvm::isa<mlir::TupleType>(types[0])) {
    const auto members = llvm::cast<mlir::TupleType>(types[0]).getTypes();
    inputs.assign(members.begin(), members.end());
  } else if (operation == "stablehlo.complex" && types.size() == 1) {
    auto tensor = llvm::dyn_cast<mlir::RankedTensorType>(types[0]);
    const auto complex =
        tensor ? llvm::dyn_cast<mlir::ComplexType>(tensor.getElementType()) : mlir::ComplexType();
    if (!complex) return parser.emitError(place, "expected a tensor of complex numbers");
    inputs.assign(operands.size(), tensor.clone(complex.getElementType()));
  } else if (operation == "stablehlo.select" && types.size() == 2 && operands.size() == 3) {
    inputs.push_back(types[1]);
  } else if (types.size() == 1) {
    inputs.assign(operands.size(), types[0]);
  }
  state.addTypes(results);
  return parser.resolveOperands(operands, inputs, place, state.operands);
}

// `: type, ...`, `: (types) -> types` or `: type, ... -> types`.
ParseResult parseTypes(OpAsmParser& parser, llvm::SMLoc place, const Operands& operands,
                       OperationState& state) {
  if (failed(parser.parseOptionalColon()))
    return operands.empty() ? success()
                            : parser.emitError(parser.getCurrentLocation(), "expected ':' and types");
  if (operands.empty() && succeeded(parser.parseOptionalLParen())) {  // `()`, alone or before an arrow
    if (parser.parseRParen()) return failure();
    return parser.parseOptionalArrowTypeList(state.types);
  }
  llvm::SmallVector<mlir::Type> types;
  if (parser.parseTypeList(types)) return failure();
  if (types.size() == 1)
    if (const auto function = llvm::dyn_cast<mlir::FunctionType>(types[0]))
      return applyFunctionType(parser, operands, function, state);
  if (succeeded(parser.parseOptionalArrow())) {
    llvm::SmallVector<mlir::Type> results;
    if (parser.parseTypeList(results)) return failure();
    state.addTypes(results);
    return parser.resolveOperands(operands, types, place, state.operands);
  }
  return applyTypes(parser, place, operands, types, state);
}

ParseResult parseCommon(OpAsmParser& parser, OperationState& state) {
  const llvm::SMLoc place = parser.getCurrentLocation();
  Operands operands;
  OpAsmParser::UnresolvedOperand first;
  const auto parsed = parser.parseOptionalOperand(first);
  if (parsed.has_value()) {
    if (*parsed) return failure();
    operands.push_back(first);
  } else if (succeeded(parser.parseOptionalLParen())) {  // no operands, written as `()`
    if (parser.parseRParen()) return failure();
  } else if (state.name.getStringRef() == "stablehlo.compare" ||
             state.name.getStringRef() == "stablehlo.iota") {
    if (parseItem(parser, state, operands)) return failure();
  }
  while (succeeded(parser.parseOptionalComma()))
    if (parseItem(parser, state, operands)) return failure();
  return failure(parser.parseOptionalAttrDict(state.attributes) ||
                 parseTypes(parser, place, operands, state));
}

}  // namespace

bool hasOperationSyntax(llvm::StringRef name) {
  llvm::StringRef operation = name;
  return !operation.consume_front("stablehlo.") || findRule({operation.data(), operation.size()});
}

ParseResult parseOperation(OpAsmParser& parser, OperationState& state) {
  for (const Special& special : kSpecials)
    if (state.name.getStringRef() == special.operation) return special.parse(parser, state);
  return parseCommon(parser, state);
}

ParseResult applyFunctionType(OpAsmParser& parser, const Operands& operands, mlir::FunctionType type,
                              OperationState& state) {
  state.addTypes(type.getResults());
  return parser.resolveOperands(operands, type.getInputs(),
                                operands.empty() ? parser.getNameLoc() : operands.front().location,
                                state.operands);
}

ParseResult parseFunctionType(OpAsmParser& parser, const Operands& operands, OperationState& state) {
  mlir::FunctionType type;
  if (parser.parseColonType(type)) return failure();
  return applyFunctionType(parser, operands, type, state);
}

}  // namespace kiln::stablehlo
