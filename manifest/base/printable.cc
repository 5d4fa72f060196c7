#include "manifest/base/printable.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "manifest/base/utf8.h"

namespace kiln {

namespace {

struct Range {
  std::uint32_t first, last;
};
// What moves the cursor, turns the direction of the text around it, or cannot be seen. Joiners (U+200C,
// U+200D) stay: scripts and emoji need them.
constexpr Range kHidden[] = {
    {0, 0x1f},        {0x7f, 0x9f},     {0xad, 0xad},     {0x61c, 0x61c},
    {0x180e, 0x180e}, {0x200b, 0x200b}, {0x200e, 0x200f}, {0x2028, 0x202e},
    {0x2060, 0x206f}, {0xfeff, 0xfeff}, {0xfff9, 0xfffb}, {0xe0000, 0xe0fff},
};

bool isHidden(std::uint32_t point) {
  return std::ranges::any_of(kHidden, [&](Range one) { return one.first <= point && point <= one.last; });
}

// The character at the beginning of text in UTF-8, and its bytes.
std::pair<std::uint32_t, std::size_t> firstOf(std::string_view text) {
  const auto lead = static_cast<unsigned char>(text[0]);
  const std::size_t bytes = lead < 0x80 ? 1 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
  std::uint32_t point = bytes == 1 ? lead : lead & (0x7Fu >> bytes);
  for (std::size_t i = 1; i < bytes; ++i) point = point << 6 | (static_cast<unsigned char>(text[i]) & 0x3Fu);
  return {point, bytes};
}

}  // namespace

std::string printable(std::string_view text, std::size_t limit) {
  bool cut = text.size() > limit;
  text = text.substr(0, limit);
  while (cut && !text.empty() && (text.back() & 0x80) && !isUtf8(text))
    text.remove_suffix(1);  // half a character
  const bool utf8 = isUtf8(text);
  std::string out;
  while (!text.empty()) {
    const auto [point, bytes] =
        utf8 ? firstOf(text) : std::pair(std::uint32_t{static_cast<unsigned char>(text[0])}, std::size_t{1});
    if (isHidden(point) || (!utf8 && point >= 0x80))
      out += '?';
    else
      out += text.substr(0, bytes);
    text.remove_prefix(bytes);
  }
  return cut ? out + "..." : out;
}

std::string inQuotes(std::string_view text) {
  std::string out = "\"";
  out += printable(text);
  out += '"';
  return out;
}

}  // namespace kiln
