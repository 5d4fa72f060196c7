#include "api/gateway/request_line.h"

#include <algorithm>

namespace kiln::gateway {
namespace {

constexpr std::string_view kEmptyLine = "\r\n";
// RFC 9112 2.3: name, major and minor version of one digit each.
constexpr std::string_view kForm = "HTTP/d.d";

bool isDigit(char c) {
  return c >= '0' && c <= '9';
}

bool isVersion(std::string_view word) {
  if (word.size() != kForm.size()) return false;
  for (std::size_t i = 0; i < kForm.size(); ++i)
    if (kForm[i] == 'd' ? !isDigit(word[i]) : word[i] != kForm[i]) return false;
  return true;
}

}  // namespace

std::size_t emptyLines(std::string_view bytes) {
  std::size_t count = 0;
  while (bytes.substr(count).starts_with(kEmptyLine)) count += kEmptyLine.size();
  return count;
}

std::optional<HttpError> settleVersion(std::span<char> line) {
  const std::string_view text(line.data(), line.size());
  const std::size_t end = text.size() - std::min(text.size(), kEmptyLine.size());
  if (text.substr(end) != kEmptyLine || end <= kForm.size()) return std::nullopt;
  const std::size_t begin = end - kForm.size();
  if (text[begin - 1] != ' ' || !isVersion(text.substr(begin, kForm.size()))) return std::nullopt;
  if (text[begin + kForm.find('d')] != '1')
    return httpError(505, "UNSUPPORTED", "this side speaks HTTP/1.1: ask in that");
  char& minor = line[begin + kForm.rfind('d')];
  if (minor > '1') minor = '1';
  return std::nullopt;
}

}  // namespace kiln::gateway
