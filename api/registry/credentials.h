// Who pushes: what a docker-style config.json says for a registry, or a token in a file.
//
// Source: the file that `docker login`, `oras login` and `crane auth login` write (`auths`, by host).
#pragma once

#include <string>
#include <string_view>

#include "manifest/base/result.h"

namespace kiln::registry {

// Secrets: they go into the Authorization header of the registry, or of where it sends for tokens, and into
// nothing else.
struct Credentials {
  std::string basic;   // base64 of USER:PASSWORD; "" for none
  std::string bearer;  // a token for the registry itself; "" for none
  // Why there are none although the file was read, in words; "" if there is nothing to say.
  std::string without;

  bool given() const { return !basic.empty() || !bearer.empty(); }
};

// Of `host`, in the text of a config.json. kInvalidArgument if it is malformed or holds an identity token,
// which is not exchanged here. What a credential helper keeps is not asked for: `without` says so.
Result<Credentials> parseDockerConfig(std::string_view text, const std::string& host);
// The same from a file that nobody else may read. Errors name the file and never what is in it.
Result<Credentials> readDockerConfig(const std::string& path, const std::string& host);
// A token, alone in a file that nobody else may read.
Result<Credentials> readTokenFile(const std::string& path);

}  // namespace kiln::registry
