#include "compiler_core/frontend/stablehlo/text/packed_booleans.h"

#include <charconv>
#include <cstdint>
#include <optional>
#include <string_view>

namespace kiln::stablehlo {
namespace {

constexpr std::string_view kStart = "dense<\"0x";
constexpr std::string_view kType = "> : tensor<";

// The elements of `2x3xi1>...`; nullopt for other types.
std::optional<std::uint64_t> booleansOf(std::string_view type) {
  std::uint64_t count = 1;
  while (!type.starts_with("i1>")) {
    std::uint64_t extent = 0;
    const auto [end, error] = std::from_chars(type.data(), type.data() + type.size(), extent);
    if (error != std::errc() || end == type.data() + type.size() || *end != 'x') return std::nullopt;
    if (extent == 0 || count > (std::uint64_t{1} << 40) / extent) return std::nullopt;
    count *= extent;
    type.remove_prefix(static_cast<std::size_t>(end - type.data()) + 1);
  }
  return count;
}

bool isBooleans(std::string_view hex) {
  for (std::size_t i = 0; i < hex.size(); i += 2)
    if (hex[i] != '0' || (hex[i + 1] != '0' && hex[i + 1] != '1')) return false;
  return true;
}

std::string packed(std::string_view hex) {
  constexpr std::string_view kDigits = "0123456789ABCDEF";
  std::string out;
  for (std::size_t first = 0; first < hex.size() / 2; first += 8) {
    unsigned byte = 0;
    for (std::size_t bit = 0; bit < 8 && first + bit < hex.size() / 2; ++bit)
      byte |= static_cast<unsigned>(hex[2 * (first + bit) + 1] == '1') << bit;
    out += kDigits[byte >> 4];
    out += kDigits[byte & 15];
  }
  return out;
}

}  // namespace

void packBooleans(std::string& text) {
  for (std::size_t at = text.find(kStart); at != std::string::npos; at = text.find(kStart, at)) {
    at += kStart.size();
    const std::size_t end = text.find('"', at);
    if (end == std::string::npos) return;
    const std::string_view hex = std::string_view(text).substr(at, end - at);
    const std::string_view rest = std::string_view(text).substr(end + 1);
    if (!rest.starts_with(kType)) continue;
    const std::optional<std::uint64_t> count = booleansOf(rest.substr(kType.size()));
    if (!count || *count < 2 || hex.size() != 2 * *count || !isBooleans(hex)) continue;
    const std::string replaced = packed(hex) + "\"";
    text.replace(at, replaced.size(), replaced);
    text.replace(at + replaced.size(), end + 1 - at - replaced.size(), end + 1 - at - replaced.size(), ' ');
  }
}

}  // namespace kiln::stablehlo
