#include "compiler_core/frontend/stablehlo/program/element.h"

#include <iterator>
#include <utility>

namespace kiln::stablehlo {
namespace {

struct ElementFacts {
  std::string_view name;
  std::size_t bytes;
};
// In the order of the enumeration.
constexpr ElementFacts kElements[] = {
    {"i1", 1},  {"i2", 1},  {"i4", 1},  {"i8", 1},           {"i16", 2},           {"i32", 4},  {"i64", 8},
    {"ui2", 1}, {"ui4", 1}, {"ui8", 1}, {"ui16", 2},         {"ui32", 4},          {"ui64", 8}, {"bf16", 2},
    {"f16", 2}, {"f32", 4}, {"f64", 8}, {"complex<f32>", 8}, {"complex<f64>", 16}, {"", 0}};
static_assert(std::size(kElements) == static_cast<std::size_t>(Element::kOther) + 1);

const ElementFacts& factsOf(Element element) {
  return kElements[static_cast<std::size_t>(element)];
}

constexpr std::int64_t kMaxElements = std::int64_t{1} << 48;

}  // namespace

std::string_view elementName(Element element) {
  return factsOf(element).name;
}

std::size_t elementBytes(Element element) {
  return factsOf(element).bytes;
}

Type tensorType(Element element, std::vector<std::int64_t> shape, std::string_view other) {
  Type type;
  type.kind = Type::Kind::kTensor;
  type.element = element;
  type.text = "tensor<";
  for (const std::int64_t extent : shape)
    type.text += (extent == kDynamic ? std::string("?") : std::to_string(extent)) + "x";
  type.text += element == Element::kOther ? other : elementName(element);
  type.text += ">";
  type.shape = std::move(shape);
  return type;
}

Type tupleType(std::vector<Type> members) {
  Type type;
  type.kind = Type::Kind::kTuple;
  type.text = "tuple<";
  for (std::size_t i = 0; i < members.size(); ++i) type.text += (i ? ", " : "") + members[i].text;
  type.text += ">";
  type.members = std::move(members);
  return type;
}

std::optional<std::int64_t> elementCount(std::span<const std::int64_t> shape) {
  std::int64_t count = 1;
  for (const std::int64_t extent : shape) {
    if (extent < 0) return std::nullopt;
    if (extent == 0) return 0;
  }
  for (const std::int64_t extent : shape) {
    if (extent > kMaxElements / count) return std::nullopt;
    count *= extent;
  }
  return count;
}

Status checkLiteral(const Type& type, bool isSplat, std::size_t bytes) {
  if (type.kind != Type::Kind::kTensor)
    return fail(Code::kInvalidArgument, "a literal of type " + type.text + ", which is no tensor");
  const std::optional<std::int64_t> count = elementCount(type.shape);
  if (!count)
    return fail(Code::kInvalidArgument, "a literal of type " + type.text + ", which has no known size");
  const std::uint64_t elements = isSplat ? 1 : static_cast<std::uint64_t>(*count);
  if (elements * elementBytes(type.element) == bytes) return {};
  return fail(Code::kInvalidArgument, "a literal of type " + type.text + " has " + std::to_string(bytes) +
                                          " bytes instead of " +
                                          std::to_string(elements * elementBytes(type.element)));
}

}  // namespace kiln::stablehlo
