#include "coordinator/access/token_rules.h"

#include <algorithm>

#include "coordinator/access/claim_pattern.h"
#include "coordinator/access/issuer_url.h"

namespace kiln::access {
namespace {

Result<std::string> nonEmpty(ObjectReader& reader, std::string_view name) {
  KILN_ASSIGN(std::string text, reader.string(name));
  if (text.empty()) return badMember(reader.path(name), "must not be empty");
  return text;
}

// One text, or a list of some.
Result<std::vector<std::string>> readAudiences(ObjectReader& entry) {
  KILN_ASSIGN(const Json* value, entry.any("audience"));
  std::vector<std::string> out;
  if (value->is_array()) {
    KILN_ASSIGN(out, entry.strings("audience"));
  } else {
    KILN_ASSIGN(std::string one, entry.string("audience"));
    out.push_back(std::move(one));
  }
  if (out.empty() || out.size() > kMaxAudiences)
    return badMember(entry.path("audience"), "must have 1 to 8 audiences");
  if (std::ranges::any_of(out, &std::string::empty))
    return badMember(entry.path("audience"), "must not be empty");
  return out;
}

Result<Discovery> readDiscovery(ObjectReader reader, const NamedFiles& files) {
  Discovery out;
  if (reader.has("ca")) {
    KILN_ASSIGN(const std::string name, nonEmpty(reader, "ca"));
    // Read for each fetch; looked at here, so that a typing mistake is told at once.
    if (const auto text = files.read(name); !text) return fail(text.error().in(reader.path("ca")));
    out.ca = files.path(name);
  }
  if (reader.has("loopbackHttp")) {
    KILN_ASSIGN(out.loopbackHttp, reader.boolean("loopbackHttp"));
  }
  KILN_TRY(reader.finish());
  return out;
}

Result<std::vector<JsonWebKey>> readKeySet(ObjectReader& entry, const NamedFiles& files) {
  KILN_ASSIGN(const std::string path, nonEmpty(entry, "jwks"));
  const auto text = files.read(path);
  if (!text) return fail(text.error().in(entry.path("jwks")));
  auto keys = parseJsonWebKeys(*text);
  if (!keys) return fail(keys.error().in(entry.path("jwks") + " " + path));
  return keys;
}

}  // namespace

Result<TokenIssuer> readTokenIssuer(ObjectReader& entry, const NamedFiles& files) {
  TokenIssuer out;
  KILN_ASSIGN(out.issuer, nonEmpty(entry, "issuer"));
  KILN_ASSIGN(out.audiences, readAudiences(entry));
  if (entry.has("jwks") == entry.has("discovery"))
    return badMember(entry.path("jwks"), "or discovery must be there, and one alone");
  if (entry.has("jwks")) {
    KILN_ASSIGN(out.keys, readKeySet(entry, files));
    return out;
  }
  KILN_ASSIGN(ObjectReader inner, entry.object("discovery"));
  KILN_ASSIGN(out.discovery, readDiscovery(std::move(inner), files));
  if (const Status good = checkIssuerUrl(out.issuer, out.discovery->loopbackHttp); !good)
    return badMember(entry.path("issuer"), good.error().message + ", for its keys are fetched from there");
  return out;
}

Result<TokenGrant> readTokenGrant(ObjectReader token, const std::vector<TokenIssuer>& issuers) {
  TokenGrant out;
  KILN_ASSIGN(out.who.issuer, nonEmpty(token, "issuer"));
  if (std::ranges::find(issuers, out.who.issuer, &TokenIssuer::issuer) == issuers.end())
    return badMember(token.path("issuer"), "is none of tokenIssuers");
  if (token.has("claims")) {
    KILN_ASSIGN(out.claims, readClaimConditions(token));
  }
  if (out.claims.empty() || token.has("subject")) {
    KILN_ASSIGN(out.who.subject, nonEmpty(token, "subject"));
    if (!subjectNamesAnOwner(out.who.subject))
      return badMember(
          token.path("subject"),
          "must name an owner before \"*\", as repo:acme/* does and repo:acme* does not: it means "
          "everyone whom the issuer serves");
  } else if (!nameAnOwner(out.claims)) {
    return badMember(
        token.path("claims"),
        "must say whose pipelines are meant: one of repository, repository_owner_id, project_path, "
        "namespace_id, organization_slug and the like, with '*' after a '/' if at all; or give a "
        "subject as well");
  }
  KILN_TRY(token.finish());
  return out;
}

}  // namespace kiln::access
