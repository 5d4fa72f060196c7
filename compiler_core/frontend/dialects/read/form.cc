#include "compiler_core/frontend/dialects/read/form.h"

#include <algorithm>
#include <array>

#include "compiler_core/frontend/text/program_start.h"

namespace kiln::dialects {
namespace {

constexpr std::string_view kMagic("ML\xefR", 4);

std::string_view textOf(Bytes bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

bool isText(std::string_view text) {
  constexpr std::array<std::string_view, 5> kDialects = {"tosa.", "linalg.", "tensor.", "arith.", "math."};
  const auto own = frontend::programIn(text);
  return own && std::ranges::any_of(kDialects, [&](std::string_view dialect) {
           return own->find(dialect) != std::string_view::npos;
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
