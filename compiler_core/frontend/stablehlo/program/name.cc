#include "compiler_core/frontend/stablehlo/program/name.h"

#include "manifest/base/printable.h"

namespace kiln::stablehlo {

bool isName(std::string_view text) {
  return printable(text, text.size()) == text;
}

std::string_view cutName(std::string_view text, std::size_t most) {
  if (text.size() <= most) return text;
  // What follows a character's first byte begins with the bits 10.
  while (most > 0 && (static_cast<unsigned char>(text[most]) & 0xC0) == 0x80) --most;
  return text.substr(0, most);
}

}  // namespace kiln::stablehlo
