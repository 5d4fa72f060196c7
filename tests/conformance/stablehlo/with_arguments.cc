#include "tests/conformance/stablehlo/with_arguments.h"

#include <regex>
#include <sstream>
#include <vector>

namespace kiln::conformance {
namespace {

tl::unexpected<Error> otherForm(const std::string& what) {
  return fail(Code::kUnimplemented, "the module is not of the form that is compiled: " + what);
}

// "tensor<2xf32>, tensor<i1>" in parts. Types have commas in brackets only.
std::vector<std::string> typesOf(const std::string& list) {
  std::vector<std::string> types(1);
  int depth = 0;
  for (char letter : list) {
    depth += letter == '<' ? 1 : letter == '>' ? -1 : 0;
    if (letter == ',' && depth == 0)
      types.emplace_back();
    else if (letter != ' ' || depth > 0)
      types.back() += letter;
  }
  if (types.size() == 1 && types[0].empty()) types.clear();
  return types;
}

void replaceAll(std::string& text, const std::string& from, const std::string& to) {
  for (std::size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size())
    text.replace(at, from.size(), to);
}

}  // namespace

Result<std::string> withArguments(const std::string& text) {
  const std::string head = "func.func public @main()", end = "\n  }\n";
  const std::size_t begin = text.find(head), stop = text.find(end, begin);
  if (begin == std::string::npos || stop == std::string::npos) return otherForm("no @main without arguments");
  static const std::regex kCall(R"(^ *(%[A-Za-z0-9_]+)(?::(\d+))? = call @inputs\(\) : \(\) -> (.*)$)");
  std::istringstream lines(text.substr(begin + head.size(), stop - begin - head.size()));
  std::string body, name, arguments;
  bool isMany = false;
  std::vector<std::string> types;
  for (std::string line; std::getline(lines, line);) {
    if (line.find("custom_call @check.") != std::string::npos ||
        line.find("call @expected()") != std::string::npos)
      continue;
    std::smatch parts;
    if (!std::regex_match(line, parts, kCall)) {
      body += line + "\n";
      continue;
    }
    if (!name.empty()) return otherForm("@inputs is called twice");
    name = parts[1];
    isMany = parts[2].matched;
    std::string list = parts[3];
    if (list.starts_with("(") && list.ends_with(")")) list = list.substr(1, list.size() - 2);
    types = typesOf(list);
  }
  if (name.empty() || types.empty()) return otherForm("no inputs");
  // The last ones first: "%0#1" begins "%0#10".
  for (std::size_t i = types.size(); i-- > 0;) {
    const std::string argument = "%in" + std::to_string(i);
    arguments = argument + ": " + types[i] + (arguments.empty() ? "" : ", ") + arguments;
    if (isMany)
      replaceAll(body, name + "#" + std::to_string(i), argument);
    else
      body = std::regex_replace(body, std::regex(name + R"(\b(?![#:]))"), argument);
  }
  return text.substr(0, begin) + "func.func public @main(" + arguments + ")" + body + text.substr(stop + 1);
}

}  // namespace kiln::conformance
