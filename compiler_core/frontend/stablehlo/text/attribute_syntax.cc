#include "compiler_core/frontend/stablehlo/text/attribute_syntax.h"

#include <optional>

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/DialectImplementation.h"

namespace kiln::stablehlo {
namespace {

using mlir::failure;
using mlir::ParseResult;
using mlir::success;

constexpr llvm::StringLiteral kEnumerations("stablehlo");

// The elements of a list, nested lists flat.
struct List {
  llvm::SmallVector<std::int64_t> integers;
  llvm::SmallVector<mlir::Attribute> names;
};

ParseResult parseElements(mlir::AsmParser& parser, List& list, int depth) {
  return parser.parseCommaSeparatedList(mlir::AsmParser::Delimiter::Square, [&]() -> ParseResult {
    // Before integers, which `true` and `false` are to the parser.
    llvm::StringRef name;
    if (succeeded(parser.parseOptionalKeyword(&name))) {
      if (name == "true" || name == "false")
        list.integers.push_back(name == "true");
      else
        list.names.push_back(enumerated(parser.getContext(), name));
      return success();
    }
    std::int64_t integer = 0;
    if (const auto parsed = parser.parseOptionalInteger(integer); parsed.has_value()) {
      list.integers.push_back(integer);
      return *parsed;
    }
    if (depth == 2) return parser.emitError(parser.getCurrentLocation(), "expected an integer or a name");
    return parseElements(parser, list, depth + 1);
  });
}

// The value of a struct's field.
ParseResult parseField(mlir::AsmParser& parser, mlir::Attribute& value) {
  mlir::Builder builder(parser.getContext());
  if (succeeded(parser.parseOptionalLSquare())) {
    llvm::SmallVector<std::int64_t> integers;
    if (failed(parser.parseOptionalRSquare())) {
      do {
        if (parser.parseInteger(integers.emplace_back())) return failure();
      } while (succeeded(parser.parseOptionalComma()));
      if (parser.parseRSquare()) return failure();
    }
    value = builder.getDenseI64ArrayAttr(integers);
    return success();
  }
  mlir::Type type;
  if (const auto parsed = parser.parseOptionalType(type); parsed.has_value()) {
    if (*parsed) return failure();
    value = mlir::TypeAttr::get(type);
    return success();
  }
  llvm::StringRef name;
  if (succeeded(parser.parseOptionalKeyword(&name))) {
    value = name == "true" || name == "false" ? mlir::Attribute(builder.getBoolAttr(name == "true"))
                                              : enumerated(parser.getContext(), name);
    return success();
  }
  std::int64_t integer = 0;
  if (const auto parsed = parser.parseOptionalInteger(integer); parsed.has_value()) {
    value = builder.getI64IntegerAttr(integer);
    return *parsed;
  }
  if (const auto parsed = parser.parseOptionalAttribute(value); parsed.has_value()) return *parsed;
  double number = 0;
  if (parser.parseFloat(number)) return failure();
  value = builder.getF64FloatAttr(number);
  return success();
}

// One of the three dimension lists of a convolution: a letter is the dimension of `names`, a number a spatial
// one.
ParseResult parseDimensions(mlir::AsmParser& parser, llvm::StringRef first, llvm::StringRef firstName,
                            llvm::StringRef second, llvm::StringRef secondName, llvm::StringRef spatialName,
                            mlir::NamedAttrList& out) {
  mlir::Builder builder(parser.getContext());
  std::optional<std::int64_t> letters[2];
  llvm::SmallVector<std::pair<std::int64_t, std::int64_t>> spatial;  // number, position
  std::int64_t position = 0;
  const llvm::SMLoc start = parser.getCurrentLocation();
  auto element = [&]() -> ParseResult {
    std::int64_t number = 0;
    if (const auto parsed = parser.parseOptionalInteger(number); parsed.has_value()) {
      spatial.emplace_back(number, position++);
      return *parsed;
    }
    if (succeeded(parser.parseOptionalQuestion())) {  // a dimension that means nothing
      ++position;
      return success();
    }
    llvm::StringRef letter;
    if (parser.parseKeyword(&letter)) return failure();
    if (letter != first && letter != second)
      return parser.emitError(parser.getCurrentLocation(), "unexpected dimension '") << letter << "'";
    letters[letter == second] = position++;
    return success();
  };
  if (parser.parseCommaSeparatedList(mlir::AsmParser::Delimiter::Square, element)) return failure();
  llvm::SmallVector<std::int64_t> positions(spatial.size(), -1);
  for (const auto& [number, at] : spatial) {
    if (number < 0 || number >= std::int64_t(positions.size()) || positions[number] >= 0)
      return parser.emitError(start, "spatial dimensions are not numbered from 0 on");
    positions[number] = at;
  }
  if (!letters[0] || !letters[1])
    return parser.emitError(start, "expected dimensions '") << first << "' and '" << second << "'";
  out.append(firstName, builder.getI64IntegerAttr(*letters[0]));
  out.append(secondName, builder.getI64IntegerAttr(*letters[1]));
  out.append(spatialName, builder.getDenseI64ArrayAttr(positions));
  return success();
}

// `<5, ?>`: the largest extents of dimensions that are known at run time only.
mlir::Attribute parseBounds(mlir::AsmParser& parser) {
  llvm::SmallVector<std::int64_t> bounds;
  auto bound = [&]() -> ParseResult {
    std::int64_t& value = bounds.emplace_back(mlir::ShapedType::kDynamic);
    return succeeded(parser.parseOptionalQuestion()) ? success() : parser.parseInteger(value);
  };
  if (parser.parseCommaSeparatedList(mlir::AsmParser::Delimiter::LessGreater, bound)) return {};
  return mlir::DenseI64ArrayAttr::get(parser.getContext(), bounds);
}

bool isStructure(llvm::StringRef name) {
  constexpr llvm::StringLiteral kStructures[] = {
      "dot",        "gather",         "scatter", "channel_handle", "dot_algorithm", "output_operand_alias",
      "ragged_dot", "result_accuracy"};
  return llvm::is_contained(kStructures, name);
}

bool isEnumeration(llvm::StringRef name) {
  constexpr llvm::StringLiteral kNames[] = {
      "comparison_direction", "comparison_type",  "precision", "transpose",
      "rng_algorithm",        "rng_distribution", "fft_type",  "custom_call_api_version",
      "result_accuracy_mode"};
  return llvm::is_contained(kNames, name);
}

}  // namespace

mlir::Attribute enumerated(mlir::MLIRContext* context, llvm::StringRef name) {
  return mlir::OpaqueAttr::get(mlir::StringAttr::get(context, kEnumerations), name,
                               mlir::NoneType::get(context));
}

llvm::StringRef enumeratedName(mlir::Attribute attribute) {
  const auto opaque = llvm::dyn_cast<mlir::OpaqueAttr>(attribute);
  return opaque && opaque.getDialectNamespace() == kEnumerations ? opaque.getAttrData() : llvm::StringRef();
}

ParseResult parseList(mlir::AsmParser& parser, mlir::Attribute& value) {
  List list;
  const llvm::SMLoc start = parser.getCurrentLocation();
  if (parseElements(parser, list, 1)) return failure();
  mlir::Builder builder(parser.getContext());
  if (list.names.empty()) {
    value = builder.getDenseI64ArrayAttr(list.integers);
    return success();
  }
  if (!list.integers.empty()) return parser.emitError(start, "a list of integers and names");
  value = builder.getArrayAttr(list.names);
  return success();
}

ParseResult parseStruct(mlir::AsmParser& parser, mlir::Attribute& fields) {
  mlir::NamedAttrList list;
  auto field = [&]() -> ParseResult {
    llvm::StringRef key;
    mlir::Attribute value;
    const llvm::SMLoc start = parser.getCurrentLocation();
    if (parser.parseKeyword(&key) || parser.parseEqual() || parseField(parser, value)) return failure();
    if (list.get(key)) return parser.emitError(start, "'") << key << "' stands twice";
    list.append(key, value);
    return success();
  };
  if (parser.parseCommaSeparatedList(mlir::AsmParser::Delimiter::LessGreater, field)) return failure();
  fields = list.getDictionary(parser.getContext());
  return success();
}

ParseResult parseConvolutionDimensions(mlir::AsmParser& parser, mlir::NamedAttrList& dimensions) {
  return failure(parseDimensions(parser, "b", "input_batch_dimension", "f", "input_feature_dimension",
                                 "input_spatial_dimensions", dimensions) ||
                 parser.parseKeyword("x") ||
                 parseDimensions(parser, "i", "kernel_input_feature_dimension", "o",
                                 "kernel_output_feature_dimension", "kernel_spatial_dimensions",
                                 dimensions) ||
                 parser.parseArrow() ||
                 parseDimensions(parser, "b", "output_batch_dimension", "f", "output_feature_dimension",
                                 "output_spatial_dimensions", dimensions));
}

mlir::Attribute parseDialectAttribute(mlir::DialectAsmParser& parser, llvm::StringRef dialect) {
  llvm::StringRef name;
  const llvm::SMLoc start = parser.getCurrentLocation();
  if (parser.parseKeyword(&name)) return {};
  if (isEnumeration(name)) {
    llvm::StringRef value;
    const bool isBracketed = succeeded(parser.parseOptionalLess());
    if (parser.parseKeyword(&value) || (isBracketed && parser.parseGreater())) return {};
    return enumerated(parser.getContext(), value);
  }
  if (name == "conv") {
    mlir::NamedAttrList dimensions;
    if (parser.parseLess() || parseConvolutionDimensions(parser, dimensions) || parser.parseGreater())
      return {};
    return dimensions.getDictionary(parser.getContext());
  }
  if (name == "bounds") return parseBounds(parser);
  mlir::Attribute fields;
  if (isStructure(name)) return parseStruct(parser, fields) ? mlir::Attribute() : fields;
  parser.emitError(start, "the attribute #") << dialect << "." << name << " is not known";
  return {};
}

}  // namespace kiln::stablehlo
