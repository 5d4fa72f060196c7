#include "compiler_core/frontend/stablehlo/form.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "compiler_core/frontend/stablehlo/bytecode/container.h"
#include "compiler_core/frontend/stablehlo/bytecode/jax_export.h"
#include "compiler_core/frontend/stablehlo/bytecode/read_bytecode.h"
#include "compiler_core/frontend/text/program_start.h"

namespace kiln::stablehlo {
namespace {

std::string_view textOf(Bytes bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

bool isWord(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

// Behind the string that begins at `at`.
std::size_t behindString(std::string_view text, std::size_t at) {
  for (++at; at < text.size() && text[at] != '"'; ++at) at += text[at] == '\\';
  return std::min(at + 1, text.size());
}

// Whether `word`, which begins a name with a dot behind it, is a dialect that programs of JAX without any
// operation of StableHLO have: what their functions return is what they were given.
bool isNeutral(std::string_view word) {
  constexpr std::array<std::string_view, 4> kNeutral = {"builtin", "func", "jax", "mhlo"};
  return std::ranges::find(kNeutral, word) != kNeutral.end();
}

// Whether no operation, type or attribute is of another dialect. Strings say nothing, but for the names of
// operations in the generic form, which have operands behind them.
bool isAllNeutral(std::string_view text) {
  for (std::size_t at = 0; at < text.size();) {
    if (text.substr(at, 2) == "//") {
      at = std::min(text.find('\n', at), text.size());
    } else if (text[at] == '"') {
      const std::size_t end = behindString(text, at);
      const std::string_view name = text.substr(at + 1, end - at - 1);
      const bool isOperation = end < text.size() && text[end] == '(';
      const std::size_t dot = name.find('.');
      if (isOperation && dot != std::string_view::npos && !isNeutral(name.substr(0, dot))) return false;
      at = end;
    } else if (text[at] == '@' || text[at] == '%' || (text[at] >= '0' && text[at] <= '9')) {
      // Symbols, values and numbers have dots of their own.
      for (++at; at < text.size() && (isWord(text[at]) || text[at] == '.');) ++at;
    } else if (isWord(text[at])) {
      const std::size_t begin = at;
      while (at < text.size() && isWord(text[at])) ++at;
      if (at < text.size() && text[at] == '.' && !isNeutral(text.substr(begin, at - begin))) return false;
      while (at < text.size() && (isWord(text[at]) || text[at] == '.')) ++at;
    } else {
      ++at;
    }
  }
  return true;
}

bool isText(std::string_view text) {
  constexpr std::array<std::string_view, 2> kDialects = {"stablehlo.", "chlo."};
  const auto own = frontend::programIn(text);
  if (!own) return false;
  auto has = [&](std::string_view dialect) { return own->find(dialect) != std::string_view::npos; };
  return std::any_of(kDialects.begin(), kDialects.end(), has) || (has("func.func") && isAllNeutral(*own));
}

// StableHLO's own dialects without versions, as mlir-opt and others write them: known by the name of the
// dialect.
bool hasDialect(Bytes bytes) {
  constexpr std::string_view kName("stablehlo\0", 10);
  return textOf(bytes).find(kName) != std::string_view::npos;
}

}  // namespace

Form formOf(Bytes bytes) {
  if (isBytecode(bytes))
    return isPortable(producerOf(bytes)) || hasDialect(bytes) ? Form::kBytecode : Form::kNone;
  if (parseJaxExport(bytes)) return Form::kJaxExport;
  return isText(textOf(bytes)) ? Form::kText : Form::kNone;
}

}  // namespace kiln::stablehlo
