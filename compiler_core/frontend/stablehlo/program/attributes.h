// Typed access to the attributes of an operation. The readers make every attribute of the operations that
// they know, with its default where the file has none, so what is missing here is a fault of the file.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "compiler_core/frontend/stablehlo/program/program.h"

namespace kiln::stablehlo {

// The attribute as a T (any alternative of Attribute::value); null where it is absent or something else.
// Thread safe; the pointer lives as long as `attributes`.
template <class T>
const T* attributeAs(const Attributes& attributes, std::string_view name) {
  const auto found = attributes.find(name);
  return found == attributes.end() ? nullptr : std::get_if<T>(&found->second.value);
}

// The attribute itself; kInvalidArgument where it is absent or of another kind, with the attribute's name.
Result<bool> boolAttribute(const Attributes& attributes, std::string_view name);
Result<std::int64_t> integerAttribute(const Attributes& attributes, std::string_view name);
Result<double> floatAttribute(const Attributes& attributes, std::string_view name);
Result<std::string> stringAttribute(const Attributes& attributes, std::string_view name);
// The name of the enumeration's value: "LT".
Result<std::string> enumAttribute(const Attributes& attributes, std::string_view name);
Result<std::string> symbolAttribute(const Attributes& attributes, std::string_view name);
Result<std::vector<std::int64_t>> integersAttribute(const Attributes& attributes, std::string_view name);
Result<Literal> literalAttribute(const Attributes& attributes, std::string_view name);

// What an error calls the attribute's kind: "a list of integers", "an enumeration", ...
std::string_view kindOf(const Attribute& attribute);

}  // namespace kiln::stablehlo
