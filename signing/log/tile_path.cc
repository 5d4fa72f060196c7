#include "signing/log/tile_path.h"

#include <algorithm>
#include <charconv>

namespace kiln::signing {
namespace {

constexpr std::size_t kMaxPath = 64;

// Groups of three digits, "x" before all but the last: 1234067 is x001/x234/067.
std::string indexText(std::uint64_t index) {
  std::string digits = std::to_string(index);
  digits.insert(0, (3 - digits.size() % 3) % 3, '0');
  std::string out;
  for (std::size_t at = 0; at < digits.size(); at += 3) {
    const bool last = at + 3 == digits.size();
    out += last ? "" : "x";
    out += digits.substr(at, 3) + (last ? "" : "/");
  }
  return out;
}

bool takeNumber(std::string_view& text, std::uint64_t& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc()) return false;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return true;
}

bool read(std::string_view text, TilePath& out) {
  if (!text.starts_with("tile/")) return false;
  text.remove_prefix(5);
  std::uint64_t level = 0;
  if (text.starts_with("entries/")) {
    out.level = kEntryLevel;
    text.remove_prefix(7);
  } else if (takeNumber(text, level) && level < 8) {
    out.level = static_cast<int>(level);
  } else {
    return false;
  }
  std::string digits;
  for (bool more = true; more;) {
    if (!text.starts_with("/")) return false;
    text.remove_prefix(1);
    more = text.starts_with("x");
    if (more) text.remove_prefix(1);
    digits += text.substr(0, 3);
    text.remove_prefix(std::min<std::size_t>(3, text.size()));
  }
  std::string_view rest = digits;
  if (!takeNumber(rest, out.index) || !rest.empty()) return false;
  if (text.empty()) return true;
  if (!text.starts_with(".p/")) return false;
  text.remove_prefix(3);
  return takeNumber(text, out.width) && text.empty() && out.width > 0 && out.width < kTileWidth;
}

}  // namespace

std::string TilePath::text() const {
  std::string out = "tile/" + (level == kEntryLevel ? "entries" : std::to_string(level)) + "/";
  out += indexText(index);
  if (!isFull()) out += ".p/" + std::to_string(width);
  return out;
}

Result<TilePath> TilePath::parse(std::string_view text) {
  TilePath out;
  if (text.size() > kMaxPath || !read(text, out) || out.text() != text)
    return fail(Code::kInvalidArgument, "not the path of a tile, tile/<level or entries>/<N>[.p/<width>]");
  return out;
}

bool TilePath::within(std::uint64_t size) const {
  const std::uint64_t hashes = size >> (level == kEntryLevel ? 0 : level * kTileHeight);
  return index < (hashes >> kTileHeight) || (index == hashes >> kTileHeight && width <= hashes % kTileWidth);
}

}  // namespace kiln::signing
