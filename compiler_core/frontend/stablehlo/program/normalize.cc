#include "compiler_core/frontend/stablehlo/program/normalize.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

#include "compiler_core/frontend/stablehlo/program/attributes.h"
#include "compiler_core/frontend/stablehlo/program/element.h"
#include "compiler_core/frontend/stablehlo/program/schema.h"

namespace kiln::stablehlo {
namespace {

using Integers = std::vector<std::int64_t>;

constexpr std::int64_t kMaxIntegers = 1 << 16;
static_assert(std::endian::native == std::endian::little);

// Named by number in attributes that text has as integers.
constexpr std::string_view kApiVersions[] = {"API_VERSION_UNSPECIFIED", "API_VERSION_ORIGINAL",
                                             "API_VERSION_STATUS_RETURNING",
                                             "API_VERSION_STATUS_RETURNING_UNIFIED", "API_VERSION_TYPED_FFI"};

bool isInteger(const Attribute& attribute) {
  return std::holds_alternative<std::int64_t>(attribute.value) ||
         std::holds_alternative<bool>(attribute.value);
}

std::int64_t integerOf(const Attribute& attribute) {
  if (const bool* flag = std::get_if<bool>(&attribute.value)) return *flag ? 1 : 0;
  return std::get<std::int64_t>(attribute.value);
}

std::int64_t integerAt(const Literal& literal, std::size_t index) {
  const std::size_t width = elementBytes(literal.type.element);
  std::uint64_t bits = 0;
  std::memcpy(&bits, literal.bytes.data() + index * width, width);
  if (literal.type.element >= Element::kUI2 || literal.type.element == Element::kI1)
    return static_cast<std::int64_t>(bits);
  const int unused = static_cast<int>(64 - 8 * width);
  return static_cast<std::int64_t>(bits << unused) >> unused;
}

tl::unexpected<Error> wrongKind(const AttributeRule& rule, const Attribute& attribute,
                                std::string_view wanted) {
  return fail(Code::kInvalidArgument, "its attribute '" + std::string(rule.name) + "' is " +
                                          std::string(kindOf(attribute)) + ", expected " +
                                          std::string(wanted));
}

Status toIntegers(const AttributeRule& rule, Attribute& attribute) {
  if (std::holds_alternative<Integers>(attribute.value)) return {};
  if (const auto* literal = std::get_if<Literal>(&attribute.value)) {
    auto integers = literalIntegers(*literal);
    if (!integers) return fail(integers.error().in("its attribute '" + std::string(rule.name) + "'"));
    attribute.value = std::move(*integers);
    return {};
  }
  const auto* list = std::get_if<std::vector<Attribute>>(&attribute.value);
  if (!list || !list->empty()) return wrongKind(rule, attribute, "integers");
  attribute.value = Integers{};
  return {};
}

Status toEnum(const AttributeRule& rule, Attribute& attribute) {
  if (std::holds_alternative<Enumerated>(attribute.value)) return {};
  if (std::string* text = std::get_if<std::string>(&attribute.value)) {
    attribute.value = Enumerated{std::move(*text)};
    return {};
  }
  const auto* number = std::get_if<std::int64_t>(&attribute.value);
  if (rule.name != "api_version" || !number || *number < 0 || *number >= std::ssize(kApiVersions))
    return wrongKind(rule, attribute, "an enumeration's value");
  attribute.value = Enumerated{std::string(kApiVersions[*number])};
  return {};
}

Status toSymbol(const AttributeRule& rule, Attribute& attribute) {
  if (std::holds_alternative<SymbolName>(attribute.value)) return {};
  std::string* text = std::get_if<std::string>(&attribute.value);
  if (!text) return wrongKind(rule, attribute, "a symbol");
  attribute.value = SymbolName{std::move(*text)};
  return {};
}

template <class Convert>
Status eachOf(const AttributeRule& rule, Attribute& attribute, Convert convert) {
  if (const auto* none = std::get_if<Integers>(&attribute.value); none && none->empty())
    attribute.value = std::vector<Attribute>();
  auto* list = std::get_if<std::vector<Attribute>>(&attribute.value);
  if (!list) return wrongKind(rule, attribute, "a list");
  for (Attribute& element : *list) KILN_TRY(convert(rule, element));
  return {};
}

template <class T>
Status expect(const AttributeRule& rule, const Attribute& attribute, std::string_view wanted) {
  if (std::holds_alternative<T>(attribute.value)) return {};
  return wrongKind(rule, attribute, wanted);
}

Status toKind(const AttributeRule& rule, Attribute& attribute) {
  switch (rule.kind) {
    case AttributeKind::kAny:
      return {};
    case AttributeKind::kBool:
      if (const auto* number = std::get_if<std::int64_t>(&attribute.value);
          number && (*number == 0 || *number == 1))
        attribute.value = *number == 1;
      return expect<bool>(rule, attribute, "a boolean");
    case AttributeKind::kInteger:
      return expect<std::int64_t>(rule, attribute, "an integer");
    case AttributeKind::kFloat:
      return expect<double>(rule, attribute, "a float");
    case AttributeKind::kString:
      return expect<std::string>(rule, attribute, "a string");
    case AttributeKind::kEnum:
      return toEnum(rule, attribute);
    case AttributeKind::kEnums:
      return eachOf(rule, attribute, toEnum);
    case AttributeKind::kSymbol:
      return toSymbol(rule, attribute);
    case AttributeKind::kSymbols:
      return eachOf(rule, attribute, toSymbol);
    case AttributeKind::kIntegers:
      return toIntegers(rule, attribute);
    case AttributeKind::kLiteral:
      return expect<Literal>(rule, attribute, "a literal");
    case AttributeKind::kDictionary:
      return expect<Attributes>(rule, attribute, "a dictionary");
    case AttributeKind::kType:
      return expect<Type>(rule, attribute, "a type");
  }
  return {};
}

// The dimensions that a window of the operation has.
std::size_t windowRank(const Operation& operation, const std::vector<Type>& types) {
  if (const auto* spatial = attributeAs<Integers>(operation.attributes, "input_spatial_dimensions"))
    return spatial->size();
  return operation.operands.empty() ? 0 : types[operation.operands[0]].shape.size();
}

// Absent::kWrong and kStaysAbsent have none.
Attribute defaultOf(Absent absent, std::size_t rank) {
  switch (absent) {
    case Absent::kFalse:
      return {false};
    case Absent::kZero:
      return {std::int64_t{0}};
    case Absent::kMinusOne:
      return {std::int64_t{-1}};
    case Absent::kEmptyString:
      return {std::string()};
    case Absent::kEmptyList:
      return {std::vector<Attribute>()};
    case Absent::kEmptyDictionary:
      return {Attributes()};
    case Absent::kOnes:
      return {Integers(rank, 1)};
    case Absent::kZeros:
      return {Integers(rank, 0)};
    case Absent::kPairsOfZeros:
      return {Integers(2 * rank, 0)};
    case Absent::kTwoDefaults:
      return {std::vector<Attribute>(2, Attribute{Enumerated{"DEFAULT"}})};
    case Absent::kNoType:
      return {Enumerated{"NOTYPE"}};
    case Absent::kOriginal:
      return {Enumerated{"API_VERSION_ORIGINAL"}};
    case Absent::kWrong:
    case Absent::kStaysAbsent:
      break;
  }
  return {};
}

bool saysNothing(const AttributeRule& rule, const Attribute& attribute) {
  if (rule.until < 99) return true;
  const auto* fields = std::get_if<Attributes>(&attribute.value);
  if (rule.name != "result_accuracy" || !fields) return false;
  const Enumerated* mode = attributeAs<Enumerated>(*fields, "mode");
  return !mode || mode->name == "DEFAULT";
}

// What the text leaves away of an accuracy.
void completeAccuracy(Attributes& attributes) {
  const auto found = attributes.find("result_accuracy");
  if (found == attributes.end()) return;
  Attributes& fields = std::get<Attributes>(found->second.value);
  fields.emplace("atol", Attribute{0.0});
  fields.emplace("rtol", Attribute{0.0});
  fields.emplace("ulps", Attribute{std::int64_t{0}});
}

}  // namespace

Attribute listAttribute(std::vector<Attribute> list) {
  if (list.empty() || !std::all_of(list.begin(), list.end(), isInteger)) return {std::move(list)};
  Integers integers;
  integers.reserve(list.size());
  for (const Attribute& element : list) integers.push_back(integerOf(element));
  return {std::move(integers)};
}

Result<Integers> literalIntegers(const Literal& literal) {
  const std::optional<std::int64_t> count = elementCount(literal.type.shape);
  if (literal.type.element > Element::kUI64 || !count || *count > kMaxIntegers)
    return fail(Code::kInvalidArgument,
                "is a literal of type " + literal.type.text + ", expected at most 65536 integers");
  Integers integers;
  integers.reserve(static_cast<std::size_t>(*count));
  for (std::int64_t i = 0; i < *count; ++i)
    integers.push_back(integerAt(literal, literal.isSplat ? 0 : static_cast<std::size_t>(i)));
  return integers;
}

Status normalize(Operation& operation, const std::vector<Type>& types) {
  const OperationRule* rule = findRule(operation.name);
  if (!rule) return {};
  operation.attributes.erase("operandSegmentSizes");
  operation.attributes.erase("operand_segment_sizes");
  for (const AttributeRule& attribute : rule->attributes) {
    const auto found = operation.attributes.find(attribute.name);
    if (found != operation.attributes.end()) {
      KILN_TRY(toKind(attribute, found->second));
      if (saysNothing(attribute, found->second)) operation.attributes.erase(found);
      continue;
    }
    if (attribute.absent == Absent::kStaysAbsent) continue;
    if (attribute.absent == Absent::kWrong)
      return fail(Code::kInvalidArgument, "has no attribute '" + std::string(attribute.name) + "'");
    Attribute value = defaultOf(attribute.absent, windowRank(operation, types));
    KILN_TRY(toKind(attribute, value));
    operation.attributes.emplace(attribute.name, std::move(value));
  }
  completeAccuracy(operation.attributes);
  return {};
}

}  // namespace kiln::stablehlo
