#include "compiler_core/frontend/stablehlo/text/attribute_syntax.h"
#include "compiler_core/frontend/stablehlo/text/operation_parts.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinAttributes.h"

namespace kiln::stablehlo {
namespace {

using mlir::failure;
using mlir::OpAsmParser;
using mlir::OperationState;
using mlir::ParseResult;
using mlir::success;

// `= [..]` of a convolution's window.
ParseResult parseWindowField(OpAsmParser& parser, OperationState& state) {
  struct Field {
    llvm::StringLiteral key, attribute;
  };
  constexpr Field kFields[] = {
      {"stride", "window_strides"},   {"pad", "padding"},
      {"lhs_dilate", "lhs_dilation"}, {"rhs_dilate", "rhs_dilation"},
      {"reverse", "window_reversal"},
  };
  const llvm::SMLoc place = parser.getCurrentLocation();
  llvm::StringRef key;
  mlir::Attribute value;
  if (parser.parseKeyword(&key)) return failure();
  for (const Field& field : kFields) {
    if (field.key != key) continue;
    if (parser.parseEqual() || parseList(parser, value)) return failure();
    state.addAttribute(field.attribute, value);
    return success();
  }
  return parser.emitError(place, "'") << key << "' is not known in a window";
}

}  // namespace

// `{attributes} dense<...> : type`, or `() {value = ...} : () -> type` as old versions wrote it.
ParseResult parseConstant(OpAsmParser& parser, OperationState& state) {
  if (succeeded(parser.parseOptionalLParen())) {
    if (parser.parseRParen() || parser.parseOptionalAttrDict(state.attributes)) return failure();
    return parseFunctionType(parser, {}, state);
  }
  mlir::TypedAttr value;
  if (parser.parseOptionalAttrDict(state.attributes) ||
      parser.parseAttribute(value, "value", state.attributes))
    return failure();
  state.addTypes(value.getType());
  return success();
}

// `%value, dense<...> : type {attributes}`
ParseResult parseConstantCheck(OpAsmParser& parser, OperationState& state) {
  Operands operands(1);
  mlir::TypedAttr value;
  if (parser.parseOperand(operands[0]) || parser.parseComma() ||
      parser.parseAttribute(value, "value", state.attributes) ||
      parser.parseOptionalAttrDict(state.attributes))
    return failure();
  return parser.resolveOperand(operands[0], value.getType(), state.operands);
}

// `%x [0:1, 0:10:2] : type`
ParseResult parseSlice(OpAsmParser& parser, OperationState& state) {
  Operands operands(1);
  if (parser.parseOperand(operands[0])) return failure();
  llvm::SmallVector<std::int64_t> starts, limits, strides;
  auto range = [&]() -> ParseResult {
    if (parser.parseInteger(starts.emplace_back()) || parser.parseColon() ||
        parser.parseInteger(limits.emplace_back()))
      return failure();
    strides.push_back(1);
    return succeeded(parser.parseOptionalColon()) ? parser.parseInteger(strides.back()) : success();
  };
  if (parser.parseCommaSeparatedList(OpAsmParser::Delimiter::Square, range) ||
      parser.parseOptionalAttrDict(state.attributes))
    return failure();
  mlir::Builder& builder = parser.getBuilder();
  state.addAttribute("start_indices", builder.getDenseI64ArrayAttr(starts));
  state.addAttribute("limit_indices", builder.getDenseI64ArrayAttr(limits));
  state.addAttribute("strides", builder.getDenseI64ArrayAttr(strides));
  return parseFunctionType(parser, operands, state);
}

// `%x[0] : type`
ParseResult parseTupleElement(OpAsmParser& parser, OperationState& state) {
  Operands operands(1);
  std::int64_t index = 0;
  if (parser.parseOperand(operands[0]) || parser.parseLSquare() || parser.parseInteger(index) ||
      parser.parseRSquare() || parser.parseOptionalAttrDict(state.attributes))
    return failure();
  state.addAttribute("index", parser.getBuilder().getI64IntegerAttr(index));
  return parseFunctionType(parser, operands, state);
}

// `@target(%a, %b) {attributes} : type`
ParseResult parseCustomCall(OpAsmParser& parser, OperationState& state) {
  Operands operands;
  mlir::StringAttr target;
  if (parser.parseSymbolName(target, "call_target_name", state.attributes) ||
      parser.parseOperandList(operands, OpAsmParser::Delimiter::Paren) ||
      parser.parseOptionalAttrDict(state.attributes))
    return failure();
  return parseFunctionType(parser, operands, state);
}

// `"name" %a, %b {attributes} : type`
ParseResult parseComposite(OpAsmParser& parser, OperationState& state) {
  Operands operands;
  std::string name;
  if (parser.parseString(&name) || parser.parseOperandList(operands) ||
      parser.parseOptionalAttrDict(state.attributes))
    return failure();
  state.addAttribute("name", parser.getBuilder().getStringAttr(name));
  return parseFunctionType(parser, operands, state);
}

// `(%lhs, %rhs) dim_numbers = [..]x[..]->[..], window = {stride = [..], ...} {attributes} : type`
ParseResult parseConvolution(OpAsmParser& parser, OperationState& state) {
  Operands operands;
  if (parser.parseOperandList(operands, OpAsmParser::Delimiter::Paren) ||
      parser.parseKeyword("dim_numbers") || parser.parseEqual() ||
      parseConvolutionDimensions(parser, state.attributes) || parser.parseComma() ||
      parser.parseKeyword("window") || parser.parseEqual() ||
      parser.parseCommaSeparatedList(OpAsmParser::Delimiter::Braces,
                                     [&] { return parseWindowField(parser, state); }) ||
      parser.parseOptionalAttrDict(state.attributes))
    return failure();
  return parseFunctionType(parser, operands, state);
}

// `(%x, k = 2) {attributes} : type -> (type, type)`
ParseResult parseTopK(OpAsmParser& parser, OperationState& state) {
  Operands operands(1);
  std::int64_t k = 0;
  llvm::SmallVector<mlir::Type> results;
  mlir::Type type;
  if (parser.parseLParen() || parser.parseOperand(operands[0]) || parser.parseComma() ||
      parser.parseKeyword("k") || parser.parseEqual() || parser.parseInteger(k) || parser.parseRParen() ||
      parser.parseOptionalAttrDict(state.attributes) || parser.parseColonType(type) ||
      parser.parseArrowTypeList(results))
    return failure();
  state.addAttribute("k", parser.getBuilder().getI64IntegerAttr(k));
  state.addTypes(results);
  return parser.resolveOperand(operands[0], type, state.operands);
}

}  // namespace kiln::stablehlo
