#include "compiler_core/frontend/stablehlo/program/attributes.h"

#include <iterator>

namespace kiln::stablehlo {
namespace {

constexpr std::string_view kKinds[] = {"an attribute of unknown kind",
                                       "a boolean",
                                       "an integer",
                                       "a float",
                                       "a string",
                                       "an enumeration's value",
                                       "a symbol",
                                       "integers",
                                       "a literal",
                                       "a type",
                                       "a list",
                                       "a dictionary"};
static_assert(std::size(kKinds) == std::variant_size_v<decltype(Attribute::value)>);

template <class T>
Result<T> require(const Attributes& attributes, std::string_view name) {
  const auto found = attributes.find(name);
  const auto wanted = kKinds[Attribute{T{}}.value.index()];
  if (found == attributes.end())
    return fail(Code::kInvalidArgument,
                "has no attribute '" + std::string(name) + "', which should be " + std::string(wanted));
  if (const T* value = std::get_if<T>(&found->second.value)) return *value;
  return fail(Code::kInvalidArgument, "its attribute '" + std::string(name) + "' is " +
                                          std::string(kindOf(found->second)) + ", expected " +
                                          std::string(wanted));
}

}  // namespace

std::string_view kindOf(const Attribute& attribute) {
  return kKinds[attribute.value.index()];
}

Result<bool> boolAttribute(const Attributes& attributes, std::string_view name) {
  return require<bool>(attributes, name);
}

Result<std::int64_t> integerAttribute(const Attributes& attributes, std::string_view name) {
  return require<std::int64_t>(attributes, name);
}

Result<double> floatAttribute(const Attributes& attributes, std::string_view name) {
  return require<double>(attributes, name);
}

Result<std::string> stringAttribute(const Attributes& attributes, std::string_view name) {
  return require<std::string>(attributes, name);
}

Result<std::string> enumAttribute(const Attributes& attributes, std::string_view name) {
  KILN_ASSIGN(Enumerated value, require<Enumerated>(attributes, name));
  return std::move(value.name);
}

Result<std::string> symbolAttribute(const Attributes& attributes, std::string_view name) {
  KILN_ASSIGN(SymbolName value, require<SymbolName>(attributes, name));
  return std::move(value.name);
}

Result<std::vector<std::int64_t>> integersAttribute(const Attributes& attributes, std::string_view name) {
  return require<std::vector<std::int64_t>>(attributes, name);
}

Result<Literal> literalAttribute(const Attributes& attributes, std::string_view name) {
  return require<Literal>(attributes, name);
}

}  // namespace kiln::stablehlo
