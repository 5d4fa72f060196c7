#include "api/registry/credentials.h"

#include <algorithm>

#include "manifest/base/digest.h"
#include "manifest/json/json.h"
#include "signing/keys/files.h"

namespace kiln::registry {
namespace {

constexpr std::size_t kMaxConfig = 1 << 20, kMaxToken = 64 << 10;

// The reader's own messages may quote what is in the file.
tl::unexpected<Error> malformed(const char* what) {
  return fail(Code::kInvalidArgument, what);
}

Result<std::string> text(const Json& entry, const char* name) {
  const auto found = entry.find(name);
  if (found == entry.end()) return std::string();
  if (!found->is_string()) return malformed("auths: holds a member that must be text and is not");
  return found->get<std::string>();
}

bool hasHelper(const Json& config, const std::string& host) {
  const auto helpers = config.find("credHelpers");
  return config.contains("credsStore") ||
         (helpers != config.end() && helpers->is_object() && helpers->contains(host));
}

const Json* entryOf(const Json& config, const std::string& host) {
  const auto auths = config.find("auths");
  if (auths == config.end() || !auths->is_object()) return nullptr;
  for (const std::string& name : {host, "https://" + host, "https://" + host + "/"})
    if (const auto found = auths->find(name); found != auths->end() && found->is_object()) return &*found;
  return nullptr;
}

}  // namespace

Result<Credentials> parseDockerConfig(std::string_view config, const std::string& host) {
  const auto json = parseJson(config, {.bytes = kMaxConfig, .depth = 16});
  if (!json || !json->is_object()) return malformed("is no JSON object");
  Credentials out;
  const Json* entry = entryOf(*json, host);
  if (entry) {
    KILN_ASSIGN(const std::string identity, text(*entry, "identitytoken"));
    if (!identity.empty())
      return malformed("holds an identity token, which kiln does not exchange; use --registry-token-file");
    KILN_ASSIGN(out.basic, text(*entry, "auth"));
    KILN_ASSIGN(const std::string user, text(*entry, "username"));
    KILN_ASSIGN(const std::string password, text(*entry, "password"));
    if (out.basic.empty() && !user.empty()) out.basic = toBase64(asBytes(user + ":" + password));
    const auto pair = fromBase64(out.basic);
    if (!pair || (!out.basic.empty() && pair->find(':') == pair->npos))
      return malformed("auths: holds an \"auth\" that is no USER:PASSWORD in base64");
  }
  if (out.basic.empty() && hasHelper(*json, host))
    out.without = "a credential helper keeps them, which kiln does not run; use --registry-token-file";
  return out;
}

Result<Credentials> readDockerConfig(const std::string& path, const std::string& host) {
  KILN_ASSIGN(const std::string config, signing::readSecretFile(path, kMaxConfig));
  auto read = parseDockerConfig(config, host);
  if (!read) return fail(read.error().in(path));
  return read;
}

Result<Credentials> readTokenFile(const std::string& path) {
  Credentials out;
  KILN_ASSIGN(out.bearer, signing::readSecretFile(path, kMaxToken));
  while (out.bearer.ends_with('\n') || out.bearer.ends_with('\r')) out.bearer.pop_back();
  if (out.bearer.empty() || !std::ranges::all_of(out.bearer, [](char c) { return c > ' ' && c < 0x7f; }))
    return fail(Code::kInvalidArgument, path + ": must hold a token, in one line");
  return out;
}

}  // namespace kiln::registry
