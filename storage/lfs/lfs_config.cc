#include "storage/lfs/lfs_config.h"

#include <fmt/core.h>

#include <optional>

#include "manifest/base/glob.h"
#include "storage/lfs/server_url.h"

namespace kiln::lfs {
namespace {

constexpr std::string_view kBlank = " \t\r";

std::string_view trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(kBlank);
  if (first == text.npos) return {};
  return text.substr(first, text.find_last_not_of(kBlank) - first + 1);
}

tl::unexpected<Error> malformed(int line, std::string_view why) {
  return fail(Error{Code::kInvalidArgument, fmt::format("{}, line {}: {}", kLfsConfig, line, why),
                    R"({"exitCode":3})"});
}

// "lfs" of "[lfs]", "remote.origin" of "[remote \"origin\"]": a name counts whatever its case, a quoted part
// as it is.
std::optional<std::string> sectionIn(std::string_view line) {
  const std::size_t end = line.find(']');
  if (end == line.npos) return std::nullopt;
  const std::string_view rest = trimmed(line.substr(end + 1));
  if (!rest.empty() && rest.front() != '#' && rest.front() != ';') return std::nullopt;
  const std::string_view inside = trimmed(line.substr(1, end - 1));
  const std::size_t quote = inside.find('"');
  if (quote == inside.npos) return lower(inside);
  if (inside.size() < quote + 2 || inside.back() != '"') return std::nullopt;
  return lower(trimmed(inside.substr(0, quote))) + "." +
         std::string(inside.substr(quote + 1, inside.size() - quote - 2));
}

// Without quotes around all of it, and without a comment behind it.
std::string_view valueIn(std::string_view text) {
  text = trimmed(text);
  if (text.starts_with('"')) {
    const std::size_t end = text.find('"', 1);
    return end == text.npos ? text : text.substr(1, end - 1);
  }
  return trimmed(text.substr(0, text.find_first_of("#;")));
}

}  // namespace

Result<std::string> lfsServerIn(std::string_view text) {
  std::string section, server, ofOrigin;
  for (int number = 1; !text.empty(); ++number) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = trimmed(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.empty() || line.front() == '#' || line.front() == ';') continue;
    if (line.find('\0') != line.npos) return malformed(number, "has a NUL");
    if (line.front() == '[') {
      const auto named = sectionIn(line);
      if (!named) return malformed(number, "begins no section");
      section = *named;
      if (section == "include" || section.starts_with("includeif"))
        return fail(Code::kUnimplemented,
                    fmt::format("{}, line {}: includes other files, which are not read", kLfsConfig, number));
      continue;
    }
    if (section.empty()) return malformed(number, "stands in no section");
    const std::size_t equals = line.find('=');
    const std::string name = section + "." + lower(trimmed(line.substr(0, equals)));
    const bool isServer = name == "lfs.url", isOrigins = name == "remote.origin.lfsurl";
    if ((!isServer && !isOrigins) || equals == line.npos) continue;
    const std::string_view value = valueIn(line.substr(equals + 1));
    if (value.find_first_of("\\\"") != value.npos)
      return fail(
          Code::kUnimplemented,
          fmt::format("{}, line {}: the address of the server has escapes or quotes, which are not read",
                      kLfsConfig, number));
    (isServer ? server : ofOrigin) = value;
  }
  return server.empty() ? ofOrigin : server;
}

Result<std::string> checkedServer(const std::string& url) {
  const auto refused = [](const char* why) {
    return fail(Code::kUnimplemented, fmt::format("{} names a server {}", kLfsConfig, why));
  };
  if (url.find("://") == url.npos ||
      (!lower(url).starts_with("https://") && !lower(url).starts_with("http://")))
    return refused("that is not reached by https");
  if (url.find_first_of("?#") != url.npos) return refused("with a query or a fragment in its address");
  if (const auto place = placeOf(url); !place) return fail(place.error().in(kLfsConfig));
  std::string out = url;
  while (out.ends_with('/')) out.pop_back();
  return out;
}

}  // namespace kiln::lfs
