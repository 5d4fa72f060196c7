#include "coordinator/jobs/git_url.h"

#include <algorithm>
#include <string>

namespace kiln::jobs {
namespace {

bool isUpper(char c) {
  return c >= 'A' && c <= 'Z';
}

// "%20": two capital hex digits that stand for a character that a URL's path cannot have as it is.
bool isNeededEscape(std::string_view escape) {
  constexpr std::string_view kDigits = "0123456789ABCDEF";
  if (escape.size() != 3 || kDigits.find(escape[1]) == kDigits.npos ||
      kDigits.find(escape[2]) == kDigits.npos)
    return false;
  const auto code = static_cast<unsigned char>(16 * kDigits.find(escape[1]) + kDigits.find(escape[2]));
  const bool unreserved = (code >= '0' && code <= '9') || (code >= 'A' && code <= 'Z') ||
                          (code >= 'a' && code <= 'z') || code == '-' || code == '.' || code == '_' ||
                          code == '~' || code == '/';
  return !unreserved;
}

}  // namespace

Status checkGitUrl(std::string_view url) {
  const auto refuse = [](const char* why) {
    return fail(Code::kInvalidArgument, std::string("the git URL ") + why + "; write it without");
  };
  const std::string_view rest = url.substr(url.find("://") + 3);
  const std::size_t slash = std::min(rest.find('/'), rest.size());
  const std::string_view authority = rest.substr(0, slash), path = rest.substr(slash);
  const std::string_view place = authority.substr(authority.rfind('@') + 1);  // npos + 1 is 0
  const std::size_t colon = place.ends_with(']') ? place.npos : place.rfind(':');
  const std::string_view host = place.substr(0, colon);
  if (std::ranges::any_of(host, isUpper)) return refuse("has capitals in its host");
  if (host.ends_with('.')) return refuse("has a dot at the end of its host");
  if (colon != place.npos) {
    const std::string_view port = place.substr(colon + 1), usual = url.starts_with("ssh:") ? "22" : "443";
    if (port.empty() || port == usual || port.starts_with('0'))
      return refuse("has a port that goes without saying");
  }
  if (path.find_first_of("?#\\") != path.npos) return refuse("has a query, a fragment or a backslash");
  if (path.ends_with('/')) return refuse("has a slash at its end");
  const std::string parts = std::string(path) + "/";
  if (parts.find("//") != parts.npos || parts.find("/./") != parts.npos || parts.find("/../") != parts.npos)
    return refuse("has an empty or dotted part in its path");
  for (std::size_t at = path.find('%'); at != path.npos; at = path.find('%', at + 1))
    if (!isNeededEscape(path.substr(at, 3)))
      return refuse("has an escape that is not needed or not in capitals");
  return {};
}

}  // namespace kiln::jobs
