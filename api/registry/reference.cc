#include "api/registry/reference.h"

#include <algorithm>

#include "manifest/base/printable.h"

namespace kiln::registry {
namespace {

constexpr std::size_t kMaxHost = 255, kMaxRepository = 255, kMaxTag = 128;

bool isDigit(char c) {
  return c >= '0' && c <= '9';
}
bool isLower(char c) {
  return (c >= 'a' && c <= 'z') || isDigit(c);
}
bool isAlnum(char c) {
  return isLower(c) || (c >= 'A' && c <= 'Z');
}

bool isHost(std::string_view text) {
  if (text.empty() || text.size() > kMaxHost) return false;
  if (!std::ranges::all_of(text, [](char c) {
        return isAlnum(c) || std::string_view(".-:[]").find(c) != std::string_view::npos;
      }))
    return false;
  return text == "localhost" || text.find_first_of(".:") != text.npos;
}

// Separators stand between letters and digits; which of them may follow each other is left to the registry.
bool isComponent(std::string_view text) {
  return !text.empty() && isLower(text.front()) && isLower(text.back()) && text.find("..") == text.npos &&
         std::ranges::all_of(text, [](char c) { return isLower(c) || c == '.' || c == '_' || c == '-'; });
}

bool isRepository(std::string_view text) {
  if (text.size() > kMaxRepository) return false;
  for (;;) {
    const auto slash = text.find('/');
    if (!isComponent(text.substr(0, slash))) return false;
    if (slash == text.npos) return true;
    text.remove_prefix(slash + 1);
  }
}

bool isTag(std::string_view text) {
  return !text.empty() && text.size() <= kMaxTag && (isAlnum(text.front()) || text.front() == '_') &&
         std::ranges::all_of(text, [](char c) { return isAlnum(c) || c == '.' || c == '_' || c == '-'; });
}

tl::unexpected<Error> wrong(std::string_view text, const char* what) {
  return fail(Code::kInvalidArgument,
              inQuotes(text) + ": " + what + "; expected HOST[:PORT]/REPOSITORY[:TAG]");
}

}  // namespace

Result<Reference> Reference::parse(std::string_view text) {
  const auto slash = text.find('/');
  if (slash == text.npos) return wrong(text, "names no repository");
  if (text.find('@') != text.npos)
    return wrong(text, "names a digest, which is what the push itself decides");
  Reference out;
  out.host = text.substr(0, slash);
  std::string_view rest = text.substr(slash + 1);
  if (const auto colon = rest.find(':'); colon != rest.npos) {
    out.tag = rest.substr(colon + 1);
    if (!isTag(out.tag)) return wrong(text, "is not a tag behind the colon");
    rest = rest.substr(0, colon);
  }
  out.repository = rest;
  if (!isHost(out.host)) return wrong(text, "begins with no host, which has a dot or a port");
  if (!isRepository(out.repository))
    return wrong(text, "has a repository of other than lower-case letters, digits, '.', '_', '-' and '/'");
  return out;
}

bool Reference::isLocal() const {
  if (host.starts_with('[')) return host == "[::1]" || host.starts_with("[::1]:");
  const std::string name = host.substr(0, host.find(':'));
  return name == "localhost" || name == "127.0.0.1";
}

}  // namespace kiln::registry
