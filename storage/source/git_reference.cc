#include "storage/source/git_reference.h"

#include <fmt/core.h>

#include <algorithm>

#include "manifest/base/printable.h"
#include "storage/source/fetched_model.h"
#include "storage/source/git_url.h"

namespace kiln::source {
namespace {

constexpr std::string_view kPrefix = "git+";
constexpr std::string_view kForm = "git+URL@COMMIT#path";

}  // namespace

bool isGitReference(std::string_view text) {
  return text.starts_with(kPrefix);
}

std::string escapeLocalUrl(std::string_view text) {
  if (!text.starts_with("git+file://")) return std::string(text);
  const std::size_t end = std::min(text.substr(0, text.find('#')).rfind('@'), text.find('#'));
  std::string out;
  for (const char c : text.substr(0, end)) {
    const auto byte = static_cast<unsigned char>(c);
    out += byte == ' ' || byte >= 0x80 ? fmt::format("%{:02X}", byte) : std::string(1, c);
  }
  return out.append(text.substr(std::min(end, text.size())));
}

bool isFullCommit(std::string_view commit) {
  return commit.size() == 40 && std::all_of(commit.begin(), commit.end(), [](char c) {
           return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
         });
}

Status checkSourcePath(std::string_view path) {
  if (path.empty() || path.size() > 4096)
    return fail(Code::kInvalidArgument, "no path in the repository; '#.' is the whole of it");
  for (std::size_t start = 0; start <= path.size();) {
    std::size_t end = std::min(path.find('/', start), path.size());
    std::string_view name = path.substr(start, end - start);
    bool plain =
        !name.empty() && name != "." && name != ".." &&
        std::all_of(name.begin(), name.end(), [](unsigned char c) { return c >= 0x20 && c != 0x7f; });
    if (!plain)
      return fail(Code::kInvalidArgument,
                  "the path in the repository must be relative, of plain names without '.' or '..'");
    start = end + 1;
  }
  return {};
}

Result<GitReference> parseGitReference(std::string_view text) {
  auto bad = [](std::string_view why) {
    return fail(Code::kInvalidArgument, fmt::format("{}: {}", kForm, why));
  };
  if (!isGitReference(text)) return bad("does not begin with git+");
  text.remove_prefix(kPrefix.size());
  std::size_t hash = text.find('#');
  if (hash == text.npos) return bad("no '#path' at the end");
  std::string_view path = text.substr(hash + 1), front = text.substr(0, hash);
  if (front.find("://") == front.npos)
    return bad(
        fmt::format("\"{}\" is no URL; write git+https://, git+ssh:// or, for a repository on this "
                    "machine, git+file:///absolute/path@COMMIT#path",
                    printable(front)));
  // The user of an ssh URL has an '@' too: the commit's is the one after the host's slash.
  std::size_t at = front.rfind('@'), slash = front.find('/', std::min(front.find("://") + 3, front.size()));
  if (at == front.npos || (slash != front.npos && at < slash)) return bad("no '@COMMIT' after the URL");
  GitReference out{std::string(front.substr(0, at)), std::string(front.substr(at + 1)), std::string(path)};
  if (out.commit.empty() || out.commit.size() > 255 ||
      !std::all_of(out.commit.begin(), out.commit.end(),
                   [](unsigned char c) { return c > 0x20 && c != 0x7f; }))
    return bad("no commit after '@'");
  if (auto url = parseGitUrl(out.url); !url) return fail(url.error());
  if (out.path != kWholeCommit) KILN_TRY(checkSourcePath(out.path));
  return out;
}

}  // namespace kiln::source
