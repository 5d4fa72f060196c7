// The access file: which caller has which roles in which instances. Form:
// manifest/schemas/access.schema.json.
#pragma once

#include <compare>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "coordinator/access/claim_conditions.h"
#include "coordinator/access/identity.h"
#include "coordinator/access/roles.h"
#include "coordinator/access/token_rules.h"

namespace kiln::access {

inline constexpr std::string_view kEveryInstance = "*";

// Whom a grant is for. In a WorkerHolder '*' stands for any characters. A token's subject is a pattern as of
// claimMatches(), and one that is "" is anybody's, whose claims then say who is meant. A CertificateHolder
// has either its subject or its key, the other is "".
struct Grant {
  std::string name;  // its own, or "grants[3]"
  Identity who;
  std::vector<ClaimCondition> claims;  // of a token; all of them must hold
  Roles roles;
  std::vector<std::string> instances;  // names, or "*" for every instance
};

// A certificate as its authority knows it: issuer in RFC 2253, serial number in upper-case hexadecimal, both
// as `openssl x509 -noout -issuer -serial -nameopt RFC2253` prints them.
struct CertificateId {
  std::string issuer, serial;
  auto operator<=>(const CertificateId&) const = default;
};

// Instances by name, or all of them.
struct InstanceSet {
  bool all = false;
  std::vector<std::string> names;
  bool empty() const { return !all && names.empty(); }
};

// A grant for tokens of an issuer, as seen from one of them.
struct GrantVerdict {
  const Grant* grant;
  std::string unmet;  // "" if it is for the token, else what is missing; fit for a log and a terminal
};

// Immutable, so thread safe. Without a file nobody but the local user may do anything.
class AccessRules {
 public:
  AccessRules() = default;

  // kInvalidArgument naming the member; unknown members are refused. `files` are not used afterwards.
  static Result<AccessRules> parse(std::string_view text, const NamedFiles& files);
  // Key sets are looked for beside the file unless their path is absolute. Errors name the path.
  static Result<AccessRules> load(const std::string& path);

  // A local user has every role everywhere, a caller on loopback is a submitter everywhere.
  Roles rolesOf(const Identity& who, std::string_view instance) const;
  // Those that it has in one instance or another.
  Roles rolesAnywhere(const Identity& who) const;
  // Where `who` has `role`; where it has any.
  InstanceSet instancesOf(const Identity& who, Role role) const;
  InstanceSet instancesOf(const Identity& who) const;

  // All grants for tokens of its issuer, in the file's order: for who may read the file.
  std::vector<GrantVerdict> explain(const TokenHolder& who) const;
  // The first grant that gives `who` one of the roles in the instance; "" for none, or where none is needed.
  std::string grantFor(const Identity& who, Roles roles, std::string_view instance) const;

  const std::vector<TokenIssuer>& tokenIssuers() const { return tokenIssuers_; }
  // Nobody is identified by such a certificate, a worker neither.
  bool isRevoked(const CertificateId& certificate) const { return revoked_.contains(certificate); }

 private:
  InstanceSet instancesWith(const Identity& who, Roles any) const;

  std::vector<TokenIssuer> tokenIssuers_;
  std::vector<Grant> grants_;
  std::set<CertificateId> revoked_;
};

}  // namespace kiln::access
