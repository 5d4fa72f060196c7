// URLs of git repositories.
#pragma once

#include <string>
#include <string_view>

#include "manifest/base/result.h"

namespace kiln::source {

struct GitUrl {
  std::string scheme;  // file, https, ssh or http
  std::string user;    // ssh only
  std::string host;    // lower case; an IPv6 address without its brackets
  std::string port;    // empty: the scheme's own
  std::string path;    // begins with '/'; of file:// without its %XX escapes: a path on this machine
};

// kInvalidArgument for anything else, for control characters, a password, a query or a fragment: a URL is
// recorded in the provenance, so it holds no secrets. A user name is for ssh only.
Result<GitUrl> parseGitUrl(std::string_view url);

}  // namespace kiln::source
