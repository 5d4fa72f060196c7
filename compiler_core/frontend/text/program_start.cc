#include "compiler_core/frontend/text/program_start.h"

#include <algorithm>
#include <array>

namespace kiln::frontend {
namespace {

constexpr std::size_t kHead = 4096;

std::string_view behindComments(std::string_view text) {
  for (;;) {
    text.remove_prefix(std::min(text.find_first_not_of(" \t\r\n"), text.size()));
    if (!text.starts_with("//")) return text;
    text.remove_prefix(std::min(text.find('\n'), text.size()));
  }
}

// "#map = " or "!row = ".
bool namesSomething(std::string_view text) {
  if (!text.starts_with('#') && !text.starts_with('!')) return false;
  constexpr std::string_view kNames = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_$.-";
  const std::size_t end = text.find_first_not_of(kNames, 1);
  if (end == 1 || end == std::string_view::npos) return false;
  text.remove_prefix(end);
  text.remove_prefix(std::min(text.find_first_not_of(" \t"), text.size()));
  return text.starts_with('=');
}

}  // namespace

std::optional<std::string_view> programIn(std::string_view text) {
  constexpr std::array<std::string_view, 5> kStarts = {"module", "builtin.module", "\"builtin.module\"",
                                                       "func.func", "\"func.func\""};
  if (text.substr(0, kHead).find('\0') != std::string_view::npos) return std::nullopt;
  const std::string_view own = behindComments(text);
  const bool starts =
      std::ranges::any_of(kStarts, [&](std::string_view start) { return own.starts_with(start); });
  return starts || namesSomething(own) ? std::optional(own) : std::nullopt;
}

}  // namespace kiln::frontend
