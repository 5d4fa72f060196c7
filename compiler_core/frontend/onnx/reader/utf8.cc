#include "compiler_core/frontend/onnx/reader/utf8.h"

#include <cstdint>

namespace kiln::onnx {

bool isUtf8(std::string_view text) {
  for (std::size_t i = 0; i < text.size();) {
    auto lead = static_cast<std::uint8_t>(text[i]);
    if (lead < 0x20 || lead == 0x7f) return false;
    if (lead < 0x80) {
      ++i;
      continue;
    }
    std::size_t extra = lead >= 0xf0 ? 3 : lead >= 0xe0 ? 2 : 1;
    if (lead < 0xc2 || lead > 0xf4 || text.size() - i <= extra) return false;
    std::uint32_t code = lead & (0x3fu >> extra);
    for (std::size_t k = 1; k <= extra; ++k) {
      auto byte = static_cast<std::uint8_t>(text[i + k]);
      if ((byte & 0xc0) != 0x80) return false;
      code = code << 6 | (byte & 0x3fu);
    }
    constexpr std::uint32_t kSmallest[] = {0, 0x80, 0x800, 0x10000};
    if (code < kSmallest[extra] || code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff)) return false;
    i += extra + 1;
  }
  return true;
}

}  // namespace kiln::onnx
