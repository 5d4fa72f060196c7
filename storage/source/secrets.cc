#include "storage/source/secrets.h"

#include <fmt/core.h>
#include <sys/stat.h>

#include <cerrno>
#include <sstream>

#include "manifest/base/file.h"

namespace kiln::source {
namespace {
constexpr std::size_t kMaxBytes = 1 << 20;
}  // namespace

Result<GitCredentials> readGitCredentials(const std::string& path) {
  struct stat file{};
  if (::stat(path.c_str(), &file) != 0) return fail(errnoError(errno, path));
  if (file.st_mode & 077)
    return fail(Code::kPermissionDenied,
                path + ": others can read these credentials; run: chmod 600 " + path);
  KILN_ASSIGN(const std::string text, readRegular(path, kMaxBytes));
  std::istringstream in(text);
  GitCredentials out;
  std::string line;
  for (int number = 1; std::getline(in, line); ++number) {
    if (line.ends_with('\r')) line.pop_back();
    if (line.empty() || line.starts_with('#')) continue;
    std::size_t equals = line.find('=');
    std::string name = line.substr(0, equals), value = equals == line.npos ? "" : line.substr(equals + 1);
    if (name == "token")
      out.token = value;
    else if (name == "user")
      out.user = value;
    else if (name == "ssh-key")
      out.sshKey = value;
    else if (name == "ssh-passphrase")
      out.sshPassphrase = value;
    else if (name == "ssh-host-key")
      out.sshHostKeys.push_back(value);
    else
      return fail(
          Code::kInvalidArgument,
          fmt::format("{}:{}: not one of token, user, ssh-key, ssh-passphrase, ssh-host-key", path, number));
  }
  return out;
}

}  // namespace kiln::source
