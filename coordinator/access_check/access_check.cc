#include "coordinator/access_check/access_check.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <string>

#include "coordinator/access/access_rules.h"
#include "coordinator/access/discovered_keys.h"
#include "manifest/base/exit_code.h"
#include "manifest/base/printable.h"
#include "manifest/base/steady_clock.h"
#include "manifest/base/usage.h"
#include "signing/keys/files.h"

namespace kiln::access_check {
namespace {

struct Wanted {
  std::string access, token, claims;
  std::string instance = "default";
  bool offline = false;
};

std::optional<int> read(int argc, char** argv, Wanted& wanted) {
  CLI::App app("Says what the access file makes of a token.", "kiln-coordinator check-access");
  app.add_option("--access", wanted.access, "the access file")->required();
  auto* token = app.add_option("--token-file", wanted.token, "file with a token, mode 0600");
  auto* claims =
      app.add_option("--claims", wanted.claims, "file with a token's claims as JSON, in a token's place");
  token->excludes(claims);
  app.add_option("--instance", wanted.instance, "where the caller wants a role")->capture_default_str();
  app.add_flag("--offline", wanted.offline,
               "ask no issuer for its keys: the signature is then proven only by keys of a file");
  app.footer("Example: kiln-coordinator check-access --access access.json --claims claims.json");
  try {
    parseWords(app, argc, argv);
    if (wanted.token.empty() == wanted.claims.empty())
      throw CLI::ValidationError("--token-file or --claims", "one of them must be given");
  } catch (const CLI::ParseError& error) {
    return usageExit(app, error);
  }
  return std::nullopt;
}

Result<std::string> readToken(const std::string& path) {
  KILN_ASSIGN(std::string token, signing::readSecretFile(path, access::kMaxTokenBytes + 2));
  while (token.ends_with('\n') || token.ends_with('\r')) token.pop_back();
  return token;
}

struct Seen {
  access::TokenHolder who;
  std::string proof;
};

Result<Seen> judge(const Wanted& wanted, const access::AccessRules& rules, TimePoint now) {
  if (!wanted.claims.empty()) {
    KILN_ASSIGN(const std::string text, signing::readTextFile(wanted.claims, access::kMaxTokenBytes));
    KILN_ASSIGN(auto who, access::readClaimsAlone(text, rules.tokenIssuers(), now));
    return Seen{std::move(who), "claims alone: nothing is proven"};
  }
  KILN_ASSIGN(const std::string token, readToken(wanted.token));
  if (wanted.offline) {
    KILN_ASSIGN(auto who, access::readUnprovenToken(token, rules.tokenIssuers(), now));
    for (const auto& issuer : rules.tokenIssuers())
      if (issuer.issuer == who.issuer && !issuer.discovery)
        return access::verifyToken(token, rules.tokenIssuers(), now).map([](access::TokenHolder holder) {
          return Seen{std::move(holder), "its signature is good"};
        });
    return Seen{std::move(who),
                "SIGNATURE NOT PROVEN: its keys come by discovery, and --offline asks nobody"};
  }
  const SteadyClock steady;
  access::DiscoveredKeys keys(steady, access::fetchDocument,
                              access::FollowTimes{.wait = std::chrono::seconds(21)});
  keys.follow(rules.tokenIssuers());
  KILN_ASSIGN(auto who, access::verifyToken(token, rules.tokenIssuers(), now, &keys));
  return Seen{std::move(who), "its signature is good"};
}

void print(const Seen& seen, const access::AccessRules& rules) {
  fmt::print("issuer   {}\nsubject  {}\nproof    {}\n", printable(seen.who.issuer),
             printable(seen.who.subject), seen.proof);
  for (const auto& [name, value] : seen.who.claims)
    if (name != "iss" && name != "sub") fmt::print("claim    {}: {}\n", printable(name), printable(value));
  for (const access::GrantVerdict& verdict : rules.explain(seen.who)) {
    const access::Grant& grant = *verdict.grant;
    if (verdict.unmet.empty())
      fmt::print("grant    {}: {} in {}\n", grant.name, grant.roles.names(),
                 fmt::join(grant.instances, ", "));
    else
      fmt::print("no       {}: {}\n", grant.name, verdict.unmet);
  }
}

int failed(const Error& error) {
  fmt::print(stderr, "kiln-coordinator: error: {}\n", error.message);
  return exitCodeOf(error.code);
}

}  // namespace

int checkAccess(int argc, char** argv, const Clock& clock) {
  Wanted wanted;
  if (const auto exit = read(argc, argv, wanted)) return *exit;
  const auto rules = access::AccessRules::load(wanted.access);
  if (!rules) return failed(rules.error());
  const auto seen = judge(wanted, *rules, clock.now());
  if (!seen) return failed(seen.error());
  print(*seen, *rules);
  const access::Roles roles = rules->rolesOf(seen->who, wanted.instance);
  fmt::print("roles    {} in {}\n", roles.empty() ? "none" : roles.names(), printable(wanted.instance));
  return roles.empty() ? exitCodeOf(Code::kPermissionDenied) : 0;
}

}  // namespace kiln::access_check
