#include "compiler_core/frontend/stablehlo/text/to_attributes.h"

#include <cstring>
#include <optional>

#include "compiler_core/frontend/stablehlo/program/element.h"
#include "compiler_core/frontend/stablehlo/program/normalize.h"
#include "compiler_core/frontend/stablehlo/text/attribute_syntax.h"
#include "llvm/Support/raw_ostream.h"

namespace kiln::stablehlo {
namespace {

constexpr int kMaxDepth = 64;

template <class T>
std::string textOf(T value) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  value.print(stream);
  return text;
}

std::string stringOf(llvm::StringRef text) {
  return text.str();
}

Element integerElement(mlir::IntegerType type) {
  const bool isUnsigned = type.isUnsigned();
  switch (type.getWidth()) {
    case 1:
      return isUnsigned ? Element::kOther : Element::kI1;
    case 2:
      return isUnsigned ? Element::kUI2 : Element::kI2;
    case 4:
      return isUnsigned ? Element::kUI4 : Element::kI4;
    case 8:
      return isUnsigned ? Element::kUI8 : Element::kI8;
    case 16:
      return isUnsigned ? Element::kUI16 : Element::kI16;
    case 32:
      return isUnsigned ? Element::kUI32 : Element::kI32;
    case 64:
      return isUnsigned ? Element::kUI64 : Element::kI64;
    default:
      return Element::kOther;
  }
}

Element elementOf(mlir::Type type) {
  if (const auto integer = llvm::dyn_cast<mlir::IntegerType>(type)) return integerElement(integer);
  if (type.isBF16()) return Element::kBF16;
  if (type.isF16()) return Element::kF16;
  if (type.isF32()) return Element::kF32;
  if (type.isF64()) return Element::kF64;
  if (const auto complex = llvm::dyn_cast<mlir::ComplexType>(type)) {
    if (complex.getElementType().isF32()) return Element::kC64;
    if (complex.getElementType().isF64()) return Element::kC128;
  }
  return Element::kOther;
}

std::vector<std::int64_t> shapeOf(mlir::RankedTensorType type) {
  std::vector<std::int64_t> shape;
  for (const std::int64_t extent : type.getShape())
    shape.push_back(mlir::ShapedType::isDynamic(extent) ? kDynamic : extent);
  return shape;
}

// Quantized types carry scales that nothing here needs.
std::string otherElement(mlir::Type type) {
  const std::string text = textOf(type);
  return text.starts_with("!quant") ? "!quant.uniform" : text;
}

Attribute integerAttribute(mlir::IntegerAttr integer) {
  const llvm::APInt& value = integer.getValue();
  if (integer.getType().isInteger(1)) return {value.getBoolValue()};
  if (value.getBitWidth() > 64) return {};
  const bool isUnsigned = integer.getType().isUnsignedInteger();
  return {isUnsigned ? static_cast<std::int64_t>(value.getZExtValue()) : value.getSExtValue()};
}

std::vector<std::int64_t> integersOf(mlir::DenseArrayAttr array) {
  std::vector<std::int64_t> integers;
  const std::size_t width = array.getElementType().getIntOrFloatBitWidth();
  const std::size_t bytes = width <= 8 ? 1 : width / 8;
  const llvm::ArrayRef<char> data = array.getRawData();
  for (std::size_t at = 0; at + bytes <= data.size(); at += bytes) {
    std::uint64_t bits = 0;
    std::memcpy(&bits, data.data() + at, bytes);
    const int unused = static_cast<int>(64 - 8 * bytes);
    integers.push_back(static_cast<std::int64_t>(bits << unused) >> unused);
  }
  return integers;
}

// i1 and elements below a byte, one byte each.
std::shared_ptr<const Bytes::value_type[]> unpacked(mlir::DenseElementsAttr elements, Element element,
                                                    std::size_t count) {
  std::shared_ptr<std::uint8_t[]> bytes(new std::uint8_t[count]);
  auto values = elements.getValues<llvm::APInt>();
  const bool isSigned = element == Element::kI2 || element == Element::kI4;
  auto value = values.begin();
  for (std::size_t i = 0; i < count; ++i, ++value)
    bytes[i] = static_cast<std::uint8_t>(isSigned ? (*value).getSExtValue() : (*value).getZExtValue());
  return bytes;
}

}  // namespace

Status AttributeConverter::count() {
  if (budget_-- > 0) return {};
  budget_ = 0;
  return fail(Code::kUnimplemented, "so many attributes from so few words are not served");
}

Result<Type> AttributeConverter::type(mlir::Type type) {
  if (const auto known = types_.find(type); known != types_.end()) return known->second;
  KILN_ASSIGN(Type converted, convertType(type, 0));
  types_[type] = converted;
  return converted;
}

Result<Type> AttributeConverter::convertType(mlir::Type type, int depth) {
  KILN_TRY(count());
  if (depth > kMaxDepth) return fail(Code::kUnimplemented, "tuples nested deeper than 64 are not served");
  if (const auto tensor = llvm::dyn_cast<mlir::RankedTensorType>(type)) {
    const Element element = elementOf(tensor.getElementType());
    return tensorType(element, shapeOf(tensor),
                      element == Element::kOther ? otherElement(tensor.getElementType()) : std::string());
  }
  Type converted;
  if (const auto tuple = llvm::dyn_cast<mlir::TupleType>(type)) {
    std::vector<Type> members;
    for (const mlir::Type member : tuple.getTypes()) {
      KILN_ASSIGN(Type inner, convertType(member, depth + 1));
      members.push_back(std::move(inner));
    }
    return tupleType(std::move(members));
  }
  converted.element = elementOf(type);
  converted.text = llvm::isa<mlir::FunctionType>(type) ? "function" : textOf(type);
  return converted;
}

Result<Attribute> AttributeConverter::attribute(mlir::Attribute attribute) {
  return convert(attribute, 0);
}

Result<Attributes> AttributeConverter::dictionary(mlir::DictionaryAttr dictionary) {
  return fields(dictionary, 0);
}

Result<Attribute> AttributeConverter::convert(mlir::Attribute attribute, int depth) {
  KILN_TRY(count());
  if (depth > kMaxDepth) return fail(Code::kUnimplemented, "attributes nested deeper than 64 are not served");
  if (const auto integer = llvm::dyn_cast<mlir::IntegerAttr>(attribute)) return integerAttribute(integer);
  if (const auto number = llvm::dyn_cast<mlir::FloatAttr>(attribute))
    return Attribute{number.getValueAsDouble()};
  if (const auto text = llvm::dyn_cast<mlir::StringAttr>(attribute))
    return Attribute{stringOf(text.getValue())};
  if (const auto symbol = llvm::dyn_cast<mlir::FlatSymbolRefAttr>(attribute))
    return Attribute{SymbolName{stringOf(symbol.getValue())}};
  if (llvm::isa<mlir::UnitAttr>(attribute)) return Attribute{true};
  if (const llvm::StringRef name = enumeratedName(attribute); !name.empty())
    return Attribute{Enumerated{stringOf(name)}};
  if (const auto array = llvm::dyn_cast<mlir::ArrayAttr>(attribute)) return list(array, depth);
  if (const auto dictionary = llvm::dyn_cast<mlir::DictionaryAttr>(attribute)) {
    KILN_ASSIGN(Attributes attributes, fields(dictionary, depth));
    return Attribute{std::move(attributes)};
  }
  if (const auto array = llvm::dyn_cast<mlir::DenseArrayAttr>(attribute))
    return array.getElementType().isIntOrIndex() ? Attribute{integersOf(array)} : Attribute{};
  if (const auto elements = llvm::dyn_cast<mlir::DenseElementsAttr>(attribute)) return literal(elements);
  if (const auto type = llvm::dyn_cast<mlir::TypeAttr>(attribute)) {
    KILN_ASSIGN(Type converted, this->type(type.getValue()));
    return Attribute{std::move(converted)};
  }
  return Attribute{};
}

Result<Attribute> AttributeConverter::list(mlir::ArrayAttr array, int depth) {
  std::vector<Attribute> elements;
  for (const mlir::Attribute element : array) {
    KILN_ASSIGN(Attribute converted, convert(element, depth + 1));
    elements.push_back(std::move(converted));
  }
  return listAttribute(std::move(elements));
}

Result<Attributes> AttributeConverter::fields(mlir::DictionaryAttr dictionary, int depth) {
  Attributes attributes;
  for (const mlir::NamedAttribute& field : dictionary) {
    KILN_ASSIGN(Attribute converted, convert(field.getValue(), depth + 1));
    attributes.emplace(stringOf(field.getName().getValue()), std::move(converted));
  }
  return attributes;
}

Result<Attribute> AttributeConverter::literal(mlir::DenseElementsAttr elements) {
  Literal literal;
  KILN_ASSIGN(literal.type, type(elements.getType()));
  if (literal.type.kind != Type::Kind::kTensor) return Attribute{};
  const std::optional<std::int64_t> count = elementCount(literal.type.shape);
  if (!count)
    return fail(Code::kInvalidArgument, "a literal of type " + literal.type.text + " has no known size");
  literal.isSplat = elements.isSplat() && *count > 1;
  const std::size_t stored = literal.isSplat ? 1 : static_cast<std::size_t>(*count);
  const Element element = literal.type.element;
  const auto integers = llvm::dyn_cast<mlir::IntegerType>(elements.getElementType());
  if (element == Element::kOther || stored == 0) {
    literal.isSplat = literal.isSplat && element != Element::kOther;
  } else if (integers && integers.getWidth() < 8) {
    const auto bytes = unpacked(elements, element, stored);
    literal.bytes = {bytes.get(), stored};
    literal.owner = bytes;
  } else {
    const llvm::ArrayRef<char> data = elements.getRawData();
    literal.bytes = {reinterpret_cast<const std::uint8_t*>(data.data()), data.size()};
    literal.owner = context_;
  }
  if (element != Element::kOther) KILN_TRY(checkLiteral(literal.type, literal.isSplat, literal.bytes.size()));
  return Attribute{std::move(literal)};
}

}  // namespace kiln::stablehlo
