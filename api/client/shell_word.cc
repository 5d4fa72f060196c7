#include "api/client/shell_word.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "manifest/base/printable.h"

namespace kiln::client {
namespace {

bool isPlain(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](unsigned char c) {
    return std::isalnum(c) ||
           std::string_view("_./=:,+-@%").find(static_cast<char>(c)) != std::string_view::npos;
  });
}

std::string quoted(std::string_view text) {
  std::string out = "'";
  for (const char c : text) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

bool isShown(char c) {
  return c >= ' ' && c <= '~';
}

}  // namespace

std::string shellWord(std::string_view text) {
  if (isPlain(text)) return std::string(text);
  if (printable(text, std::string_view::npos) == text) return quoted(text);
  // A substitution loses the line feeds at its end, so none ends in one.
  const std::size_t lines = text.size() - (text.find_last_not_of('\n') + 1);
  const std::string_view body = text.substr(0, text.size() - lines);
  std::string out;
  for (std::size_t at = 0; at < body.size();) {
    std::size_t end = at;
    while (end < body.size() && isShown(body[end])) ++end;
    if (end > at) out += quoted(body.substr(at, end - at));
    if (end == body.size()) break;
    at = end;
    out += "\"$(printf '";
    bool more = true;
    for (; more; ++at) {
      out += fmt::format("\\{:03o}", static_cast<unsigned char>(body[at]));
      more = at + 1 < body.size() && (body[at] == '\n' || !isShown(body[at + 1]));
    }
    out += "')\"";
  }
  return lines == 0 ? out : out + quoted(std::string(lines, '\n'));
}

std::string shellOption(std::string_view name, std::string_view value) {
  const std::string option(name);
  return value.starts_with('-') ? shellWord(option + "=" + std::string(value))
                                : option + " " + shellWord(value);
}

std::string shellPath(std::string_view path) {
  return shellWord(path.starts_with('-') ? "./" + std::string(path) : std::string(path));
}

}  // namespace kiln::client
