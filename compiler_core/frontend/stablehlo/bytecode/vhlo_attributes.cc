#include "compiler_core/frontend/stablehlo/bytecode/vhlo_attributes.h"

#include <bit>
#include <limits>

#include "compiler_core/frontend/stablehlo/bytecode/vhlo_codes.h"
#include "compiler_core/frontend/stablehlo/bytecode/vhlo_literal.h"
#include "compiler_core/frontend/stablehlo/program/element.h"
#include "compiler_core/frontend/stablehlo/program/normalize.h"

namespace kiln::stablehlo {
namespace {

constexpr int kMaxDepth = 64;

// MLIR's own attributes that a portable artifact has beside VHLO's.
constexpr std::uint64_t kBuiltinDictionary = 1, kBuiltinString = 2, kBuiltinNameLocation = 14;

std::optional<Attribute> present(Attribute attribute) {
  return std::optional<Attribute>(std::move(attribute));
}

// The bits of a number of `width` bits as written: one byte up to 8 bits, else a zigzag varint.
Result<std::uint64_t> numberBits(Cursor& cursor, std::size_t width) {
  if (width <= 8) return cursor.byte().map([](std::uint8_t value) { return std::uint64_t{value}; });
  return cursor.signedVarint().map([](std::int64_t value) { return static_cast<std::uint64_t>(value); });
}

Result<std::vector<std::int64_t>> integerList(Cursor& cursor) {
  KILN_ASSIGN(const std::size_t count, cursor.count());
  std::vector<std::int64_t> integers(count);
  for (std::int64_t& integer : integers) {
    KILN_ASSIGN(integer, cursor.signedVarint());
  }
  return integers;
}

Type plainType(Element element, std::string text) {
  Type type;
  type.element = element;
  type.text = std::move(text);
  return type;
}

}  // namespace

Status VhloAttributes::enter(const Cursor& cursor, int depth) {
  if (depth > kMaxDepth)
    return cursor.error("attributes or types nested deeper than 64 are not served", Code::kUnimplemented);
  if (budget_-- > 0) return {};
  budget_ = 0;
  return cursor.error("so many attributes from so few bytes are not served", Code::kUnimplemented);
}

Result<Type> VhloAttributes::type(std::size_t index) {
  return readType(index, 0);
}

Result<Type> VhloAttributes::readType(std::size_t index, int depth) {
  if (index >= types_.size())
    return fail(Code::kInvalidArgument, "there is no type " + std::to_string(index));
  if (types_[index]) return *types_[index];
  const Entry& entry = container_.types[index];
  Cursor cursor = entry.content;
  KILN_TRY(enter(cursor, depth));
  if (!entry.isEncoded || entry.dialect != "vhlo")
    return cursor.error("a type of dialect '" + std::string(entry.dialect) + "', expected one of vhlo");
  KILN_ASSIGN(const std::uint64_t code, cursor.varint());
  Type type;
  if (const std::optional<VhloScalar> scalar = vhloScalar(code)) {
    type = plainType(scalar->element, std::string(scalar->name));
  } else {
    switch (static_cast<VhloType>(code)) {
      case VhloType::kComplex: {
        KILN_ASSIGN(const std::size_t element, cursor.index(types_.size(), "type"));
        KILN_ASSIGN(const Type inner, readType(element, depth + 1));
        const Element complex = inner.element == Element::kF32   ? Element::kC64
                                : inner.element == Element::kF64 ? Element::kC128
                                                                 : Element::kOther;
        type = plainType(complex, "complex<" + inner.text + ">");
        break;
      }
      case VhloType::kTensor: {
        KILN_ASSIGN(type, tensor(cursor, depth));
        break;
      }
      case VhloType::kTensorWithEncoding: {
        KILN_TRY(cursor.index(container_.attributes.size(), "attribute"));
        KILN_ASSIGN(type, tensor(cursor, depth));
        break;
      }
      case VhloType::kTuple: {
        KILN_ASSIGN(std::vector<Type> members, typeList(cursor, depth));
        type = tupleType(std::move(members));
        break;
      }
      case VhloType::kFuture: {
        KILN_ASSIGN(type, future(cursor, depth));
        break;
      }
      case VhloType::kFunction:
        type = plainType(Element::kOther, "function");
        break;
      case VhloType::kToken:
        type = plainType(Element::kOther, "!stablehlo.token");
        break;
      case VhloType::kQuantized:
      case VhloType::kQuantizedPerAxis:
        type = plainType(Element::kOther, "!quant.uniform");
        break;
      case VhloType::kUnrankedTensor:
        type = plainType(Element::kOther, "tensor<*>");
        break;
      case VhloType::kWitness:
      case VhloType::kBuffer:
      case VhloType::kNone:
        type = plainType(Element::kOther, code == 33 ? "none" : code == 41 ? "buffer" : "witness");
        break;
      default:
        return cursor.error("a type of unknown kind " + std::to_string(code) +
                                "; types of StableHLO up to version 1.20.0 are read",
                            Code::kUnimplemented);
    }
  }
  types_[index] = type;
  return type;
}

Result<std::vector<Type>> VhloAttributes::typeList(Cursor& cursor, int depth) {
  KILN_ASSIGN(const std::size_t count, cursor.count());
  std::vector<Type> types;
  for (std::size_t i = 0; i < count; ++i) {
    KILN_ASSIGN(const std::size_t index, cursor.index(types_.size(), "type"));
    KILN_TRY(enter(cursor, depth));
    KILN_ASSIGN(Type type, readType(index, depth + 1));
    types.push_back(std::move(type));
  }
  return types;
}

Result<Type> VhloAttributes::tensor(Cursor& cursor, int depth) {
  KILN_ASSIGN(std::vector<std::int64_t> shape, integerList(cursor));
  for (std::int64_t& extent : shape) {
    if (extent == std::numeric_limits<std::int64_t>::min() || extent == -1)
      extent = kDynamic;
    else if (extent < 0)
      return cursor.error("a tensor has an extent of " + std::to_string(extent));
  }
  KILN_ASSIGN(const std::size_t index, cursor.index(types_.size(), "type"));
  KILN_ASSIGN(const Type element, readType(index, depth + 1));
  if (element.kind != Type::Kind::kOther) return cursor.error("a tensor of " + element.text);
  return tensorType(element.element, std::move(shape), element.text);
}

Result<Type> VhloAttributes::future(Cursor& cursor, int depth) {
  KILN_ASSIGN(const std::vector<Type> types, typeList(cursor, depth));
  std::string text = "!stablehlo.future<";
  for (std::size_t i = 0; i < types.size(); ++i) text += (i ? ", " : "") + types[i].text;
  return plainType(Element::kOther, text + ">");
}

Result<Signature> VhloAttributes::signature(std::size_t attribute) {
  if (attribute >= container_.attributes.size())
    return fail(Code::kInvalidArgument, "there is no attribute " + std::to_string(attribute));
  Cursor cursor = container_.attributes[attribute].content;
  KILN_ASSIGN(const std::uint64_t code, cursor.varint());
  KILN_ASSIGN(const std::size_t index, cursor.index(types_.size(), "type"));
  Cursor type = container_.types[index].content;
  KILN_ASSIGN(const std::uint64_t kind, type.varint());
  if (static_cast<VhloAttribute>(code) != VhloAttribute::kType ||
      static_cast<VhloType>(kind) != VhloType::kFunction)
    return cursor.error("the type of a function is something else");
  Signature signature;
  KILN_ASSIGN(signature.arguments, typeList(type, 0));
  KILN_ASSIGN(signature.results, typeList(type, 0));
  return signature;
}

Result<std::optional<Attribute>> VhloAttributes::attribute(std::size_t index) {
  return read(index, 0);
}

Result<std::optional<Attribute>> VhloAttributes::read(std::size_t index, int depth) {
  if (index >= container_.attributes.size())
    return fail(Code::kInvalidArgument, "there is no attribute " + std::to_string(index));
  const Entry& entry = container_.attributes[index];
  KILN_TRY(enter(entry.content, depth));
  if (!entry.isEncoded || entry.dialect != "vhlo") return present({});
  return content(entry.content, depth);
}

Result<std::optional<Attribute>> VhloAttributes::content(Cursor cursor, int depth) {
  auto some = [](Attribute value) { return present(std::move(value)); };
  KILN_ASSIGN(const std::uint64_t code, cursor.varint());
  if (isVhloEnumeration(code)) {
    KILN_ASSIGN(const std::uint64_t value, cursor.varint());
    const std::string_view name = vhloEnumerated(code, value);
    if (name.empty())
      return cursor.error("value " + std::to_string(value) + " of enumeration " + std::to_string(code) +
                              " is not known; StableHLO up to version 1.20.0 is read",
                          Code::kUnimplemented);
    return present({Enumerated{std::string(name)}});
  }
  switch (static_cast<VhloAttribute>(code)) {
    case VhloAttribute::kArray:
      return list(cursor, depth).map(some);
    case VhloAttribute::kBool:
      return cursor.varint().map([](std::uint64_t value) { return present({value != 0}); });
    case VhloAttribute::kDictionary:
      return fields(cursor, depth).map(some);
    case VhloAttribute::kFloat:
      return number(cursor, /*isFloat=*/true, depth).map(some);
    case VhloAttribute::kInteger:
      return number(cursor, /*isFloat=*/false, depth).map(some);
    case VhloAttribute::kString:
      return string(cursor).map([](std::string_view text) { return present({std::string(text)}); });
    case VhloAttribute::kTensor:
      return literal(cursor, depth).map(some);
    case VhloAttribute::kBounds:
      return integerList(cursor).map(
          [](std::vector<std::int64_t> list) { return present({std::move(list)}); });
    case VhloAttribute::kAccuracy:
      return accuracy(cursor, depth).map(some);
    case VhloAttribute::kType: {
      KILN_ASSIGN(const std::size_t index, cursor.index(types_.size(), "type"));
      KILN_ASSIGN(Type type, readType(index, depth + 1));
      if (type.text == "none") return std::optional<Attribute>();
      return present({std::move(type)});
    }
    case VhloAttribute::kOperandAlias: {
      Attributes alias;
      KILN_ASSIGN(alias["output_tuple_indices"].value, integerList(cursor));
      KILN_ASSIGN(alias["operand_index"].value, cursor.signedVarint());
      KILN_ASSIGN(alias["operand_tuple_indices"].value, integerList(cursor));
      return present({std::move(alias)});
    }
    default:
      break;
  }
  if (code >= static_cast<std::uint64_t>(VhloAttribute::kFirstMesh) &&
      code <= static_cast<std::uint64_t>(VhloAttribute::kLastMesh))
    return present({});
  return cursor.error("an attribute of unknown kind " + std::to_string(code) +
                          "; attributes of StableHLO up to version 1.20.0 are read",
                      Code::kUnimplemented);
}

Result<Attribute> VhloAttributes::list(Cursor& cursor, int depth) {
  KILN_ASSIGN(const std::size_t count, cursor.count());
  std::vector<Attribute> elements;
  for (std::size_t i = 0; i < count; ++i) {
    KILN_ASSIGN(const std::size_t index, cursor.index(container_.attributes.size(), "attribute"));
    KILN_ASSIGN(std::optional<Attribute> element, read(index, depth + 1));
    elements.push_back(element ? std::move(*element) : Attribute{});
  }
  return listAttribute(std::move(elements));
}

Result<Attribute> VhloAttributes::fields(Cursor& cursor, int depth) {
  KILN_ASSIGN(const std::size_t count, cursor.count());
  Attributes attributes;
  for (std::size_t i = 0; i < count; ++i) {
    KILN_ASSIGN(const std::size_t key, cursor.index(container_.attributes.size(), "attribute"));
    KILN_ASSIGN(const std::size_t index, cursor.index(container_.attributes.size(), "attribute"));
    KILN_ASSIGN(const std::optional<Attribute> name, read(key, depth + 1));
    const std::string* text = name ? std::get_if<std::string>(&name->value) : nullptr;
    if (!text) return cursor.error("a name in a dictionary is no string");
    KILN_ASSIGN(std::optional<Attribute> value, read(index, depth + 1));
    if (value) attributes.emplace(*text, std::move(*value));
  }
  return Attribute{std::move(attributes)};
}

Result<Type> VhloAttributes::scalarType(Cursor& cursor, int depth) {
  KILN_ASSIGN(const std::size_t index, cursor.index(types_.size(), "type"));
  KILN_ASSIGN(Type type, readType(index, depth + 1));
  if (type.kind != Type::Kind::kOther) return cursor.error("a number of type " + type.text);
  return type;
}

Result<Attribute> VhloAttributes::number(Cursor& cursor, bool isFloat, int depth) {
  KILN_ASSIGN(const Type type, scalarType(cursor, depth));
  if (type.element >= Element::kC64) {
    // Of what is read but not served only an index has a value that means something.
    if (isFloat || type.text != "index") return Attribute{};
    return cursor.signedVarint().map([](std::int64_t value) { return Attribute{value}; });
  }
  const bool isFloatType = type.element >= Element::kBF16;
  if (isFloat != isFloatType) return cursor.error("a number of type " + type.text);
  KILN_ASSIGN(const std::uint64_t bits, numberBits(cursor, bitWidth(type.element)));
  if (isFloat) return Attribute{floatOf(type.element, bits)};
  if (type.element == Element::kI1) return Attribute{(bits & 1) != 0};
  return Attribute{integerOf(type.element, bits)};
}

Result<Attribute> VhloAttributes::literal(Cursor& cursor, int depth) {
  KILN_ASSIGN(const std::size_t index, cursor.index(types_.size(), "type"));
  KILN_ASSIGN(Type type, readType(index, depth + 1));
  KILN_ASSIGN(const Bytes bytes, cursor.blob());
  auto literal = vhloLiteral(std::move(type), bytes, owner_);
  if (!literal) return cursor.error(literal.error().message);
  return Attribute{std::move(*literal)};
}

Result<Attribute> VhloAttributes::accuracy(Cursor& cursor, int depth) {
  Attributes fields;
  KILN_ASSIGN(const std::uint64_t absolute, numberBits(cursor, 64));
  KILN_ASSIGN(const std::uint64_t relative, numberBits(cursor, 64));
  fields["atol"].value = std::bit_cast<double>(absolute);
  fields["rtol"].value = std::bit_cast<double>(relative);
  KILN_ASSIGN(fields["ulps"].value, cursor.signedVarint());
  KILN_ASSIGN(const std::size_t index, cursor.index(container_.attributes.size(), "attribute"));
  KILN_ASSIGN(std::optional<Attribute> mode, read(index, depth + 1));
  if (mode) fields["mode"] = std::move(*mode);
  return Attribute{std::move(fields)};
}

Result<std::string_view> VhloAttributes::string(Cursor& cursor) {
  KILN_ASSIGN(const std::size_t index, cursor.index(container_.strings.size(), "string"));
  return container_.strings[index];
}

Result<std::string_view> VhloAttributes::builtinString(std::size_t index) {
  const Entry& entry = container_.attributes[index];
  Cursor cursor = entry.content;
  if (!entry.isEncoded || entry.dialect != "builtin") return cursor.error("a name is no string");
  KILN_ASSIGN(const std::uint64_t code, cursor.varint());
  if (code != kBuiltinString) return cursor.error("a name is no string");
  return string(cursor);
}

Result<std::vector<NamedEntry>> VhloAttributes::dictionary(std::size_t index) {
  if (index >= container_.attributes.size())
    return fail(Code::kInvalidArgument, "there is no attribute " + std::to_string(index));
  const Entry& entry = container_.attributes[index];
  Cursor cursor = entry.content;
  KILN_ASSIGN(const std::uint64_t code, cursor.varint());
  if (!entry.isEncoded || entry.dialect != "builtin" || code != kBuiltinDictionary)
    return cursor.error("the attributes of an operation are no dictionary");
  KILN_ASSIGN(const std::size_t count, cursor.count());
  std::vector<NamedEntry> entries;
  for (std::size_t i = 0; i < count; ++i) {
    KILN_ASSIGN(const std::size_t key, cursor.index(container_.attributes.size(), "attribute"));
    KILN_ASSIGN(const std::size_t value, cursor.index(container_.attributes.size(), "attribute"));
    KILN_ASSIGN(const std::string_view name, builtinString(key));
    entries.push_back({name, value});
  }
  return entries;
}

Result<std::string> VhloAttributes::location(std::size_t index) {
  LocationName name;
  for (int depth = 0; depth < kMaxDepth; ++depth) {
    if (index >= container_.attributes.size())
      return fail(Code::kInvalidArgument, "there is no location " + std::to_string(index));
    const Entry& entry = container_.attributes[index];
    Cursor cursor = entry.content;
    if (!entry.isEncoded || entry.dialect != "builtin") break;
    KILN_ASSIGN(const std::uint64_t code, cursor.varint());
    if (code != kBuiltinNameLocation) break;
    KILN_ASSIGN(const std::size_t at, cursor.index(container_.attributes.size(), "attribute"));
    KILN_ASSIGN(const std::string_view text, builtinString(at));
    if (!name.add(text)) break;
    KILN_ASSIGN(index, cursor.index(container_.attributes.size(), "attribute"));
  }
  return std::move(name).text();
}

}  // namespace kiln::stablehlo
