#include "manifest/base/printable.h"

#include "manifest/base/utf8.h"

namespace kiln {

std::string printable(std::string_view text, std::size_t limit) {
  bool cut = text.size() > limit;
  text = text.substr(0, limit);
  while (cut && !text.empty() && (text.back() & 0x80) && !isUtf8(text))
    text.remove_suffix(1);  // half a character
  bool utf8 = isUtf8(text);
  std::string out;
  for (unsigned char c : text) {
    // U+0080 to U+009F are controls too: 0xC2 followed by 0x80 to 0x9F.
    bool c1 = !out.empty() && static_cast<unsigned char>(out.back()) == 0xC2 && c < 0xA0 && c >= 0x80;
    if (c1) out.back() = '?';
    out += c < 0x20 || c == 0x7f || c1 || (c >= 0x80 && !utf8) ? '?' : static_cast<char>(c);
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
