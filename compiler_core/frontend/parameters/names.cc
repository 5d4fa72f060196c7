#include "compiler_core/frontend/parameters/names.h"

#include <charconv>

namespace kiln::parameters {
namespace {

constexpr std::size_t kMaxDigits = 6;

}  // namespace

std::string pathOf(std::string_view name) {
  constexpr std::string_view kBetween = ".[]/'\"";
  std::string out;
  while (!name.empty()) {
    const std::size_t end = std::min(name.find_first_of(kBetween), name.size());
    if (end != 0) {
      if (!out.empty()) out += '\0';
      out += name.substr(0, end);
    }
    name.remove_prefix(std::min(end + 1, name.size()));
  }
  return out;
}

std::string_view behindRoot(std::string_view path) {
  const std::size_t end = path.find('\0');
  return end == std::string_view::npos ? std::string_view() : path.substr(end + 1);
}

std::string_view rootOf(std::string_view path) {
  const std::size_t end = path.find('\0');
  return end == std::string_view::npos ? std::string_view() : path.substr(0, end);
}

std::optional<std::size_t> positionOf(std::string_view name) {
  for (const std::string_view front : {"arr_", "arg_"}) {
    if (name.starts_with(front)) {
      name.remove_prefix(front.size());
      break;
    }
  }
  std::size_t position = 0;
  if (name.empty() || name.size() > kMaxDigits || (name.size() > 1 && name[0] == '0')) return std::nullopt;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), position);
  if (error != std::errc() || end != name.data() + name.size()) return std::nullopt;
  return position;
}

}  // namespace kiln::parameters
