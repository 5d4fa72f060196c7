#include "manifest/base/utf8.h"

#include <algorithm>
#include <cstdint>

namespace kiln {

bool isUtf8(std::string_view text) {
  for (std::size_t i = 0; i < text.size();) {
    auto lead = static_cast<std::uint8_t>(text[i]);
    if (lead < 0x80) {
      ++i;
      continue;
    }
    std::size_t more = lead >= 0xF0 ? 3 : lead >= 0xE0 ? 2 : 1;
    if (lead < 0xC2 || lead > 0xF4 || text.size() - i <= more) return false;
    std::uint32_t point = lead & (0x3F >> more);
    for (std::size_t k = 1; k <= more; ++k) {
      auto next = static_cast<std::uint8_t>(text[i + k]);
      if ((next & 0xC0) != 0x80) return false;
      point = point << 6 | (next & 0x3F);
    }
    if ((more == 2 && point < 0x800) || (more == 3 && point < 0x10000)) return false;
    if (point > 0x10FFFF || (point >= 0xD800 && point <= 0xDFFF)) return false;
    i += more + 1;
  }
  return true;
}

bool isPlainText(std::string_view text) {
  return isUtf8(text) && std::ranges::none_of(text, [](unsigned char c) { return c < 0x20 || c == 0x7f; });
}

}  // namespace kiln
