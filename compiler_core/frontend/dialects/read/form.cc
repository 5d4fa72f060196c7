#include "compiler_core/frontend/dialects/read/form.h"

#include <algorithm>
#include <array>

namespace kiln::dialects {
namespace {

constexpr std::string_view kMagic("ML\xefR", 4);

std::string_view textOf(Bytes bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// Without blanks and comments at the front.
std::string_view program(std::string_view text) {
  for (;;) {
    text.remove_prefix(std::min(text.find_first_not_of(" \t\r\n"), text.size()));
    if (!text.starts_with("//")) return text;
    text.remove_prefix(std::min(text.find('\n'), text.size()));
  }
}

bool isText(std::string_view text) {
  constexpr std::array<std::string_view, 7> kStarts = {
      "module", "builtin.module", "\"builtin.module\"", "func.func", "\"func.func\"", "#", "!"};
  constexpr std::array<std::string_view, 5> kDialects = {"tosa.", "linalg.", "tensor.", "arith.", "math."};
  constexpr std::size_t kHead = 4096;
  if (text.substr(0, kHead).find('\0') != std::string_view::npos) return false;
  const std::string_view own = program(text);
  return std::ranges::any_of(kStarts, [&](std::string_view start) { return own.starts_with(start); }) &&
         std::ranges::any_of(kDialects, [&](std::string_view dialect) {
           return own.find(dialect) != std::string_view::npos;
         });
}

}  // namespace

Form formOf(Bytes bytes) {
  const std::string_view text = textOf(bytes);
  if (text.starts_with(kMagic)) return Form::kBytecode;
  return isText(text) ? Form::kText : Form::kNone;
}

bool recognises(Bytes bytes) {
  return formOf(bytes) != Form::kNone;
}

std::string_view producerOf(Bytes bytes) {
  constexpr std::size_t kMost = 256;
  std::string_view text = textOf(bytes);
  if (!text.starts_with(kMagic) || text.size() < 6) return {};
  text.remove_prefix(kMagic.size());
  // Versions below 128 are one byte, and no other is there.
  if ((text[0] & 1) == 0) return {};
  text = text.substr(1, kMost);
  const std::size_t end = text.find('\0');
  return end == std::string_view::npos ? std::string_view() : text.substr(0, end);
}

}  // namespace kiln::dialects
