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

#include "coordinator/access/identity.h"
#include "coordinator/access/roles.h"
#include "coordinator/access/token.h"

namespace kiln::access {

inline constexpr std::string_view kEveryInstance = "*";

// Whom a grant is for. In a WorkerHolder and in a token's subject '*' stands for any characters; a
// CertificateHolder has either its subject or its key, the other is "".
struct Grant {
  Identity who;
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

// Immutable, so thread safe. Without a file nobody but the local user may do anything.
class AccessRules {
 public:
  AccessRules() = default;

  // Reads a file that `parse` names by the path that the document gives. Not used afterwards.
  using FileReader = std::function<Result<std::string>(const std::string&)>;
  // kInvalidArgument naming the member; unknown members are refused.
  static Result<AccessRules> parse(std::string_view text, const FileReader& readFile);
  // Key sets are looked for beside the file unless their path is absolute. Errors name the path.
  static Result<AccessRules> load(const std::string& path);

  // A local user has every role everywhere, a caller on loopback is a submitter everywhere.
  Roles rolesOf(const Identity& who, std::string_view instance) const;
  // Those that it has in one instance or another.
  Roles rolesAnywhere(const Identity& who) const;
  // Where `who` has `role`; where it has any.
  InstanceSet instancesOf(const Identity& who, Role role) const;
  InstanceSet instancesOf(const Identity& who) const;

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
