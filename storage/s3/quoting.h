// What stands in a query of a URL. RFC 3986, 2.1 and 2.3.
#pragma once

#include <fmt/format.h>

#include <string>
#include <string_view>

namespace kiln::s3 {

// Everything but letters, digits and "-._~" as %XX.
inline std::string percentEncoded(std::string_view text) {
  std::string out;
  for (const char c : text) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       std::string_view("-._~").find(c) != std::string_view::npos;
    out += plain ? std::string(1, c) : fmt::format("%{:02X}", static_cast<unsigned char>(c));
  }
  return out;
}

}  // namespace kiln::s3
