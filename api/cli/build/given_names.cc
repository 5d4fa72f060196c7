#include "api/cli/build/given_names.h"

#include <cctype>
#include <string_view>

namespace kiln::cli {
namespace {

// Whether a path may go on with it: "params/1" does not end in "params/10".
bool isOfPath(std::string_view text) {
  if (text.empty()) return false;
  const auto first = static_cast<unsigned char>(text[0]);
  // A full stop ends a sentence, or stands before an ending.
  if (first == '.') return text.size() > 1 && std::isalnum(static_cast<unsigned char>(text[1])) != 0;
  return std::isalnum(first) != 0 || first >= 0x80 || first == '_' || first == '-' || first == '/';
}

}  // namespace

std::string asGiven(const std::string& message, const std::map<std::string, std::string>& given) {
  constexpr std::string_view kInput = "input/";
  std::string out;
  for (std::string_view rest = message; !rest.empty();) {
    const std::string_view* taken = nullptr;
    std::string_view name, path = rest;
    if (rest.starts_with(kInput) &&
        (out.empty() || !isOfPath(std::string_view(out).substr(out.size() - 1)))) {
      path.remove_prefix(kInput.size());
      for (const auto& [file, own] : given) {
        if (!path.starts_with(file) || isOfPath(path.substr(file.size()))) continue;
        name = own;
        path.remove_prefix(file.size());
        taken = &name;
        break;
      }
    }
    if (taken != nullptr) {
      out += name;
      rest = path;
    } else {
      out += rest[0];
      rest.remove_prefix(1);
    }
  }
  return out;
}

}  // namespace kiln::cli
