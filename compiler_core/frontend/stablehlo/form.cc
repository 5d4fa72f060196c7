#include "compiler_core/frontend/stablehlo/form.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "compiler_core/frontend/stablehlo/bytecode/container.h"
#include "compiler_core/frontend/stablehlo/bytecode/jax_export.h"
#include "compiler_core/frontend/stablehlo/bytecode/read_bytecode.h"

namespace kiln::stablehlo {
namespace {

std::string_view textOf(Bytes bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// Without blanks and comments at the front.
std::string_view firstWord(std::string_view text) {
  while (!text.empty()) {
    const std::size_t word = text.find_first_not_of(" \t\r\n");
    if (word == std::string_view::npos) return {};
    text.remove_prefix(word);
    if (!text.starts_with("//")) return text;
    text.remove_prefix(std::min(text.find('\n'), text.size()));
  }
  return text;
}

bool isText(std::string_view text) {
  constexpr std::array<std::string_view, 7> kStarts = {
      "module", "builtin.module", "\"builtin.module\"", "func.func", "\"func.func\"", "#", "!"};
  constexpr std::array<std::string_view, 2> kDialects = {"stablehlo.", "chlo."};
  constexpr std::size_t kHead = 4096;
  if (text.substr(0, kHead).find('\0') != std::string_view::npos) return false;
  const std::string_view first = firstWord(text);
  auto begins = [&](std::string_view start) { return first.starts_with(start); };
  auto has = [&](std::string_view dialect) { return first.find(dialect) != std::string_view::npos; };
  return std::any_of(kStarts.begin(), kStarts.end(), begins) &&
         std::any_of(kDialects.begin(), kDialects.end(), has);
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
