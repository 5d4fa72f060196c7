#include "compiler_core/frontend/stablehlo/text/attribute_syntax.h"
#include "compiler_core/frontend/stablehlo/text/operation_parts.h"
#include "mlir/IR/Block.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinTypes.h"

namespace kiln::stablehlo {
namespace {

using mlir::failure;
using mlir::OpAsmParser;
using mlir::OperationState;
using mlir::ParseResult;
using mlir::success;
using Arguments = llvm::SmallVector<OpAsmParser::Argument>;

// The region of `applies stablehlo.add`: that operation on two scalars.
void addBody(OpAsmParser& parser, llvm::StringRef operation, mlir::Type scalar, mlir::Region& region) {
  auto* block = new mlir::Block();
  region.push_back(block);
  const mlir::Location place = parser.getEncodedSourceLoc(parser.getNameLoc());
  block->addArguments({scalar, scalar}, {place, place});
  mlir::OpBuilder builder(parser.getContext());
  builder.setInsertionPointToEnd(block);
  mlir::OperationState inner(place, operation, block->getArguments(), scalar);
  mlir::Operation* result = builder.create(inner);
  mlir::OperationState end(place, "stablehlo.return", result->getResults(), {});
  builder.create(end);
}

// `reducer(%a: type, %b: type) (%c: type, %d: type) { ... }`: the arguments in pairs of one input each; the
// region has all first ones, then all second ones.
ParseResult parseReducer(OpAsmParser& parser, mlir::Region& region) {
  Arguments firsts, seconds;
  while (succeeded(parser.parseOptionalLParen())) {
    if (parser.parseArgument(firsts.emplace_back(), /*allowType=*/true) || parser.parseComma() ||
        parser.parseArgument(seconds.emplace_back(), /*allowType=*/true) || parser.parseRParen())
      return failure();
  }
  firsts.append(seconds);
  return parser.parseRegion(region, firsts);
}

}  // namespace

// `(%x init: %i), ... applies stablehlo.add across dimensions = [0] {attributes} : type`, or without
// `applies` and with a reducer after the type.
ParseResult parseReduce(OpAsmParser& parser, OperationState& state) {
  Operands operands, inits;
  const llvm::SMLoc place = parser.getCurrentLocation();
  do {
    if (parser.parseLParen() || parser.parseOperand(operands.emplace_back()) || parser.parseKeyword("init") ||
        parser.parseColon() || parser.parseOperand(inits.emplace_back()) || parser.parseRParen())
      return failure();
  } while (succeeded(parser.parseOptionalComma()));
  operands.append(inits);
  std::string applied;
  if (succeeded(parser.parseOptionalKeyword("applies"))) {
    llvm::StringRef name;
    if (parser.parseKeyword(&name)) return failure();
    if (!name.starts_with("stablehlo."))
      return parser.emitError(place, "'applies' needs an operation of stablehlo");
    applied = name.str();
  }
  mlir::Attribute dimensions;
  if (parser.parseKeyword("across") || parser.parseKeyword("dimensions") || parser.parseEqual() ||
      parseList(parser, dimensions) || parser.parseOptionalAttrDict(state.attributes))
    return failure();
  state.addAttribute("dimensions", dimensions);
  if (parseFunctionType(parser, operands, state)) return failure();
  mlir::Region& region = *state.addRegion();
  if (applied.empty()) return failure(parser.parseKeyword("reducer") || parseReducer(parser, region));
  const auto input = llvm::dyn_cast<mlir::ShapedType>(state.operands.front().getType());
  if (!input || operands.size() != 2) return parser.emitError(place, "'applies' needs one tensor");
  addBody(parser, applied, mlir::RankedTensorType::get({}, input.getElementType()), region);
  return success();
}

// `(%a = %x, ...) : types attributes {...} cond { ... } do { ... }`
ParseResult parseWhile(OpAsmParser& parser, OperationState& state) {
  Operands operands;
  Arguments arguments;
  const llvm::SMLoc place = parser.getCurrentLocation();
  auto binding = [&]() -> ParseResult {
    return failure(parser.parseArgument(arguments.emplace_back()) || parser.parseEqual() ||
                   parser.parseOperand(operands.emplace_back()));
  };
  if (parser.parseCommaSeparatedList(OpAsmParser::Delimiter::Paren, binding)) return failure();
  llvm::SmallVector<mlir::Type> types;
  if (!operands.empty() && parser.parseColonTypeList(types)) return failure();
  if (parser.resolveOperands(operands, types, place, state.operands) ||
      parser.parseOptionalAttrDictWithKeyword(state.attributes))
    return failure();
  state.addTypes(types);
  for (std::size_t i = 0; i < arguments.size(); ++i) arguments[i].type = types[i];
  return failure(parser.parseKeyword("cond") || parser.parseRegion(*state.addRegion(), arguments) ||
                 parser.parseKeyword("do") || parser.parseRegion(*state.addRegion(), arguments));
}

// `(%inputs) inits(%inits) dimension=0 attributes {...} { ... } : type`
ParseResult parseScan(OpAsmParser& parser, OperationState& state) {
  Operands operands, inits;
  std::int64_t dimension = 0;
  if (parser.parseOperandList(operands, OpAsmParser::Delimiter::Paren) || parser.parseKeyword("inits") ||
      parser.parseOperandList(inits, OpAsmParser::Delimiter::Paren) || parser.parseKeyword("dimension") ||
      parser.parseEqual() || parser.parseInteger(dimension) ||
      parser.parseOptionalAttrDictWithKeyword(state.attributes) || parser.parseRegion(*state.addRegion()))
    return failure();
  mlir::Builder& builder = parser.getBuilder();
  state.addAttribute("dimension", builder.getI64IntegerAttr(dimension));
  state.addAttribute("operandSegmentSizes",
                     builder.getDenseI32ArrayAttr({static_cast<std::int32_t>(operands.size()),
                                                   static_cast<std::int32_t>(inits.size())}));
  operands.append(inits);
  return parseFunctionType(parser, operands, state);
}

}  // namespace kiln::stablehlo
