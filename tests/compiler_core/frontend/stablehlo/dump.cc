#include "tests/compiler_core/frontend/stablehlo/dump.h"

#include <type_traits>

namespace kiln::stablehlo::test {
namespace {

std::string attributeText(const Attribute& attribute);

std::string attributesText(const Attributes& attributes) {
  std::string text = "{";
  for (const auto& [name, value] : attributes)
    text += (text.size() > 1 ? ", " : "") + name + " = " + attributeText(value);
  return text + "}";
}

std::string literalText(const Literal& literal) {
  const std::string bytes =
      literal.bytes.size() > 32 ? digestOf(literal.bytes).hex().substr(0, 16) + "..." : toHex(literal.bytes);
  return "<" + std::string(literal.isSplat ? "splat " : "") + bytes + " : " + literal.type.text + ">";
}

std::string attributeText(const Attribute& attribute) {
  return std::visit(
      [](const auto& value) -> std::string {
        using T = std::decay_t<decltype(value)>;
        if constexpr (std::is_same_v<T, std::monostate>) {
          return "?";
        } else if constexpr (std::is_same_v<T, bool>) {
          return value ? "true" : "false";
        } else if constexpr (std::is_arithmetic_v<T>) {
          return std::to_string(value);
        } else if constexpr (std::is_same_v<T, std::string>) {
          return "\"" + value + "\"";
        } else if constexpr (std::is_same_v<T, Enumerated>) {
          return value.name;
        } else if constexpr (std::is_same_v<T, SymbolName>) {
          return "@" + value.name;
        } else if constexpr (std::is_same_v<T, Literal>) {
          return literalText(value);
        } else if constexpr (std::is_same_v<T, Type>) {
          return value.text;
        } else if constexpr (std::is_same_v<T, Attributes>) {
          return attributesText(value);
        } else {
          std::string text = "[";
          for (const auto& element : value) {
            if (text.size() > 1) text += ", ";
            if constexpr (std::is_same_v<T, std::vector<Attribute>>)
              text += attributeText(element);
            else
              text += std::to_string(element);
          }
          return text + "]";
        }
      },
      attribute.value);
}

std::string valuesText(const Function& function, const std::vector<ValueId>& values, bool withTypes) {
  std::string text;
  for (const ValueId value : values) {
    text += (text.empty() ? "%" : ", %") + std::to_string(value);
    if (withTypes) text += ": " + function.types[value].text;
  }
  return text;
}

void regionText(const Function& function, const Region& region, const std::string& indent, std::string& out) {
  out += indent + "(" + valuesText(function, region.arguments, true) + ") {\n";
  for (const Operation& operation : region.operations) {
    out += indent + "  " + valuesText(function, operation.results, true) + " = " + operation.name + " " +
           valuesText(function, operation.operands, false) + " " + attributesText(operation.attributes) +
           "\n";
    for (const Region& nested : operation.regions) regionText(function, nested, indent + "    ", out);
  }
  out += indent + "}\n";
}

}  // namespace

std::string dump(const Program& program) {
  std::string text;
  for (const Function& function : program.functions) {
    text += std::string(function.isPublic ? "public " : "private ") + function.name + "(";
    for (const Argument& argument : function.arguments)
      text += "'" + argument.name + "' " + attributesText(argument.attributes) + ", ";
    text += ") -> (";
    for (std::size_t i = 0; i < function.results.size(); ++i)
      text += function.results[i].text + " " +
              (i < function.resultAttributes.size() ? attributesText(function.resultAttributes[i]) : "") +
              ", ";
    text += ")\n";
    regionText(function, function.body, "", text);
  }
  return text;
}

}  // namespace kiln::stablehlo::test
