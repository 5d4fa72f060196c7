#include "coordinator/access/claim_conditions.h"

#include <algorithm>

#include "coordinator/access/claim_pattern.h"
#include "manifest/base/printable.h"

namespace kiln::access {
namespace {

// Judged for every token; the subject has a member of its own beside "claims".
constexpr std::string_view kJudged[] = {"iss", "sub", "aud", "exp", "nbf", "iat"};

// Claims of GitHub, GitLab, Buildkite and CircleCI that their issuer gives to one owner alone.
constexpr std::string_view kOwners[] = {
    "repository",    "repository_id",  "repository_owner",  "repository_owner_id", "job_workflow_ref",
    "workflow_ref",  "enterprise",     "enterprise_id",     "project_id",          "project_path",
    "namespace_id",  "namespace_path", "ci_config_ref_uri", "organization_id",     "organization_slug",
    "pipeline_slug", "pipeline_id"};

// Whether what comes before the first '*' ends the name of an owner.
bool writtenOut(std::string_view pattern) {
  const auto star = pattern.find('*');
  if (star == std::string_view::npos) return true;
  const auto end = pattern.substr(0, star).find_last_of("/:");
  return end != std::string_view::npos && end > 0;
}

Result<ClaimCondition> readCondition(ObjectReader& claims, const std::string& name) {
  if (name.empty() || name.size() > kMaxClaimName)
    return badMember(claims.path(name.substr(0, kMaxClaimName)), "is no name of a claim: 1 to 128 bytes");
  if (std::ranges::find(kJudged, name) != std::end(kJudged))
    return badMember(claims.path(name), "is judged for every token; \"subject\" stands beside \"claims\"");
  KILN_ASSIGN(std::string pattern, claims.string(name));
  if (pattern.empty() || pattern.size() > kMaxPatternBytes)
    return badMember(claims.path(name), "must have 1 to 512 bytes");
  return ClaimCondition{name, std::move(pattern)};
}

}  // namespace

Result<std::vector<ClaimCondition>> readClaimConditions(ObjectReader& token) {
  KILN_ASSIGN(const Json* members, token.any("claims"));
  KILN_ASSIGN(ObjectReader claims, ObjectReader::open(*members, token.path("claims")));
  if (members->empty() || members->size() > kMaxConditions)
    return badMember(token.path("claims"), "must have 1 to 16 claims");
  std::vector<ClaimCondition> out;
  for (const auto& [name, value] : members->items()) {
    KILN_ASSIGN(ClaimCondition condition, readCondition(claims, name));
    out.push_back(std::move(condition));
  }
  return out;
}

bool nameAnOwner(const std::vector<ClaimCondition>& conditions) {
  return std::ranges::any_of(conditions, [](const ClaimCondition& condition) {
    return std::ranges::find(kOwners, condition.name) != std::end(kOwners) && writtenOut(condition.pattern);
  });
}

std::string unmet(const std::vector<ClaimCondition>& conditions, const TokenHolder& who) {
  for (const ClaimCondition& condition : conditions) {
    const auto found = who.claims.find(condition.name);
    const std::string name = printable(condition.name);
    if (found == who.claims.end()) return "the token has no claim " + name + " that is a text";
    if (found->second.size() > kMaxClaimValue) return name + " is longer than 1024 bytes";
    // What cannot be shown as it is cannot be judged by who reads a log either.
    if (printable(found->second, kMaxClaimValue) != found->second)
      return name + " has a control character, or one that cannot be seen";
    if (!claimMatches(condition.pattern, found->second))
      return name + " is " + inQuotes(found->second) + " and not " + inQuotes(condition.pattern);
  }
  return "";
}

}  // namespace kiln::access
