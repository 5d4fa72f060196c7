#include "api/transcoding/percent.h"

#include <algorithm>
#include <optional>

#include "manifest/base/printable.h"
#include "manifest/base/utf8.h"

namespace kiln::transcoding {
namespace {

std::optional<unsigned> hexDigit(char letter) {
  if (letter >= '0' && letter <= '9') return letter - '0';
  if (letter >= 'A' && letter <= 'F') return letter - 'A' + 10;
  if (letter >= 'a' && letter <= 'f') return letter - 'a' + 10;
  return std::nullopt;
}

}  // namespace

Result<std::string> percentDecode(std::string_view text, std::string_view what) {
  const auto bad = [&](const char* why) {
    return fail(Code::kInvalidArgument, std::string(what) + " " + inQuotes(text) + ": " + why);
  };
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      out += text[i];
      continue;
    }
    const auto high = i + 2 < text.size() ? hexDigit(text[i + 1]) : std::nullopt;
    const auto low = i + 2 < text.size() ? hexDigit(text[i + 2]) : std::nullopt;
    if (!high || !low) return bad("'%' wants two hexadecimal digits after it; write a '%' itself as %25");
    out += static_cast<char>(*high * 16 + *low);
    i += 2;
  }
  if (out.find('\0') != std::string::npos) return bad("NUL may not stand in it");
  if (!isUtf8(out)) return bad("it is not UTF-8");
  return out;
}

Result<std::vector<std::pair<std::string, std::string>>> parseQuery(std::string_view query) {
  std::vector<std::pair<std::string, std::string>> out;
  while (!query.empty()) {
    std::string one(query.substr(0, query.find('&')));
    query.remove_prefix(std::min(query.size(), one.size() + 1));
    const auto equals = one.find('=');
    if (equals == 0 || equals == std::string::npos)
      return fail(Code::kInvalidArgument,
                  "query parameter " + inQuotes(one) +
                      ": a parameter is NAME=VALUE; parameters have '&' between them");
    if (out.size() == kMaxParameters)
      return fail(Code::kInvalidArgument, "the query has more than " + std::to_string(kMaxParameters) +
                                              " parameters; leave out some");
    std::ranges::replace(one, '+', ' ');
    KILN_ASSIGN(std::string name, percentDecode(std::string_view(one).substr(0, equals), "query parameter"));
    KILN_ASSIGN(std::string value,
                percentDecode(std::string_view(one).substr(equals + 1), "query parameter " + inQuotes(name)));
    out.emplace_back(std::move(name), std::move(value));
  }
  return out;
}

}  // namespace kiln::transcoding
