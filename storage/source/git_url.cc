#include "storage/source/git_url.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>

namespace kiln::source {
namespace {

constexpr std::size_t kMaxUrl = 2048;

tl::unexpected<Error> bad(std::string_view why) {
  return fail(Code::kInvalidArgument, fmt::format("git URL: {}", why));
}

Status splitHostPort(std::string_view authority, GitUrl& out) {
  std::size_t colon;
  if (authority.starts_with('[')) {
    std::size_t close = authority.find(']');
    if (close == authority.npos) return bad("a '[' without ']'");
    out.host = authority.substr(1, close - 1);
    colon = close + 1 == authority.size() ? authority.npos : close + 1;
    if (colon != authority.npos && authority[colon] != ':')
      return bad("something follows the ']' of the address");
  } else {
    colon = authority.find(':');
    out.host = authority.substr(0, colon);
  }
  if (colon != authority.npos) {
    out.port = authority.substr(colon + 1);
    bool digits = std::all_of(out.port.begin(), out.port.end(), [](char c) { return c >= '0' && c <= '9'; });
    if (out.port.empty() || out.port.size() > 5 || !digits) return bad("the port is not a number");
  }
  for (char& c : out.host) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    bool plain = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '.' || c == ':';
    if (!plain) return bad("the host name has a character that is not allowed");
  }
  while (out.host.ends_with('.')) out.host.pop_back();  // the DNS root: "host." is "host"
  if (out.host.empty() || out.host.starts_with('-')) return bad("no host name");
  return {};
}

Result<std::string> decodePercent(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      out += text[i];
      continue;
    }
    unsigned value = 0;
    auto [end, error] =
        std::from_chars(text.data() + i + 1, text.data() + std::min(i + 3, text.size()), value, 16);
    if (error != std::errc() || end != text.data() + i + 3 || value == 0)
      return bad("'%' takes two hex digits");
    out += static_cast<char>(value);
    i += 2;
  }
  return out;
}

}  // namespace

Result<GitUrl> parseGitUrl(std::string_view url) {
  if (url.size() > kMaxUrl) return bad("longer than 2048 bytes");
  for (unsigned char c : url)
    if (c <= 0x20 || c == 0x7f) return bad("has a space or a control character; write %20 for a space");
  if (std::any_of(url.begin(), url.end(), [](unsigned char c) { return c >= 0x80; }))
    return bad("has a letter beyond ASCII; write the bytes of its UTF-8 as escapes, such as %C3%BC");
  std::size_t separator = url.find("://");
  if (separator == url.npos) return bad("no scheme; write https://, ssh:// or file://");
  GitUrl out;
  out.scheme = url.substr(0, separator);
  if (out.scheme != "file" && out.scheme != "https" && out.scheme != "ssh" && out.scheme != "http")
    return bad("scheme is not https, ssh or file");
  if (url.find_first_of("?#", separator) != url.npos) return bad("a query or fragment is not allowed");
  std::string_view rest = url.substr(separator + 3);
  std::size_t slash = rest.find('/');
  if (slash == rest.npos && out.scheme == "file")
    return bad("file:// takes an absolute path: file:///path/to/repository");
  if (slash == rest.npos || slash + 1 == rest.size()) return bad("no path to a repository");
  out.path = rest.substr(slash);
  std::string_view authority = rest.substr(0, slash);
  if (out.scheme == "file") {
    if (!authority.empty()) return bad("file:// takes an absolute path: file:///path/to/repository");
    KILN_ASSIGN(out.path, decodePercent(out.path));
    return out;
  }
  if (std::size_t at = authority.rfind('@'); at != authority.npos) {
    out.user = authority.substr(0, at);
    authority.remove_prefix(at + 1);
    if (out.scheme != "ssh" || out.user.find(':') != out.user.npos)
      return bad("credentials do not belong in it; give them to the fetcher");
  }
  KILN_TRY(splitHostPort(authority, out));
  return out;
}

}  // namespace kiln::source
