#include "coordinator/access/access_rules.h"

#include <algorithm>
#include <filesystem>
#include <set>

#include "coordinator/access/claim_pattern.h"
#include "manifest/base/glob.h"
#include "manifest/base/printable.h"
#include "manifest/json/reader.h"
#include "signing/keys/files.h"
#include "storage/blob/instance_name.h"

namespace kiln::access {
namespace {

constexpr std::size_t kMaxFileBytes = 1 << 20;
constexpr std::size_t kMaxKeySetBytes = 256 << 10;
constexpr std::size_t kMaxEntries = 4096;
constexpr std::size_t kMaxGrantName = 64;

Result<std::string> nonEmpty(ObjectReader& reader, std::string_view name) {
  KILN_ASSIGN(std::string text, reader.string(name));
  if (text.empty()) return badMember(reader.path(name), "must not be empty");
  return text;
}

// Calls `read` with each element of the array `name` as an object.
template <class F>
Status forEach(ObjectReader& reader, std::string_view name, F read) {
  KILN_ASSIGN(const Json* list, reader.array(name));
  if (list->size() > kMaxEntries) return badMember(reader.path(name), "has more than 4096 entries");
  for (std::size_t i = 0; i < list->size(); ++i) {
    KILN_ASSIGN(ObjectReader entry,
                ObjectReader::open((*list)[i], reader.path(name) + "[" + std::to_string(i) + "]"));
    KILN_TRY(read(entry));
    KILN_TRY(entry.finish());
  }
  return {};
}

Result<CertificateHolder> readCertificate(ObjectReader reader) {
  CertificateHolder out;
  if (reader.has("key")) {
    KILN_ASSIGN(out.key, reader.string("key"));
    if (!out.key.starts_with("sha256:") || !Digest::parse(out.key, 0))
      return badMember(reader.path("key"), "must be \"sha256:<hex>\" of the SubjectPublicKeyInfo");
  } else {
    KILN_ASSIGN(out.subject, nonEmpty(reader, "subject"));
  }
  KILN_TRY(reader.finish());
  return out;
}

Result<WorkerHolder> readWorker(ObjectReader reader) {
  WorkerHolder out;
  KILN_ASSIGN(out.name, nonEmpty(reader, "name"));
  KILN_ASSIGN(out.operatorName, nonEmpty(reader, "operator"));
  KILN_TRY(reader.finish());
  return out;
}

Status readWho(ObjectReader& reader, const std::vector<TokenIssuer>& issuers, Grant& grant) {
  const int kinds = reader.has("certificate") + reader.has("worker") + reader.has("token");
  if (kinds != 1)
    return badMember(reader.path("certificate"), "or worker or token must be there, and one alone");
  if (reader.has("certificate")) {
    KILN_ASSIGN(ObjectReader inner, reader.object("certificate"));
    KILN_ASSIGN(grant.who, readCertificate(std::move(inner)));
  } else if (reader.has("worker")) {
    KILN_ASSIGN(ObjectReader inner, reader.object("worker"));
    KILN_ASSIGN(grant.who, readWorker(std::move(inner)));
  } else {
    KILN_ASSIGN(ObjectReader inner, reader.object("token"));
    KILN_ASSIGN(TokenGrant token, readTokenGrant(std::move(inner), issuers));
    grant.who = std::move(token.who);
    grant.claims = std::move(token.claims);
  }
  return {};
}

// Where it has none, its place in the file.
Result<std::string> readName(ObjectReader& reader, std::size_t index) {
  if (!reader.has("name")) return "grants[" + std::to_string(index) + "]";
  KILN_ASSIGN(std::string name, reader.string("name"));
  const bool plain = std::ranges::all_of(name, [](char c) { return c > ' ' && c < 0x7f; });
  if (name.empty() || name.size() > kMaxGrantName || !plain)
    return badMember(reader.path("name"), "must have 1 to 64 characters of ASCII, without spaces");
  return name;
}

Result<Grant> readGrant(ObjectReader& reader, const std::vector<TokenIssuer>& issuers, std::size_t index) {
  Grant grant;
  KILN_ASSIGN(grant.name, readName(reader, index));
  KILN_TRY(readWho(reader, issuers, grant));
  KILN_ASSIGN(const auto roles, reader.strings("roles"));
  for (const std::string& name : roles) {
    const auto role = parseRole(name);
    if (!role) return fail(role.error().in(reader.path("roles")));
    // A worker needs the identity that its receipts are signed with; and whoever has one is nothing else.
    if ((*role == Role::kWorker) != std::holds_alternative<WorkerHolder>(grant.who))
      return badMember(reader.path("roles"), "the role worker is for \"worker\", and a worker has no other");
    grant.roles.add(*role);
  }
  if (grant.roles.empty()) return badMember(reader.path("roles"), "must name a role");
  KILN_ASSIGN(grant.instances, reader.strings("instances"));
  if (grant.instances.empty()) return badMember(reader.path("instances"), "must name an instance, or \"*\"");
  for (const std::string& name : grant.instances)
    if (const Status good = storage::checkInstanceName(name); !good)
      return badMember(reader.path("instances"), good.error().message);
  return grant;
}

Result<CertificateId> readCertificateId(ObjectReader& reader) {
  CertificateId out;
  KILN_ASSIGN(out.issuer, nonEmpty(reader, "issuer"));
  KILN_ASSIGN(out.serial, nonEmpty(reader, "serial"));
  if (out.serial.find_first_not_of("0123456789ABCDEF") != std::string::npos)
    return badMember(reader.path("serial"), "must be a serial number in upper-case hexadecimal digits");
  return out;
}

// Whether what a grant names is `who`; the claims are another matter.
struct IsFor {
  const Identity& who;
  bool operator()(const LocalUser&) const { return false; }
  bool operator()(const LoopbackCaller&) const { return false; }
  bool operator()(const CertificateHolder& granted) const {
    const auto* holder = std::get_if<CertificateHolder>(&who);
    if (!holder) return false;
    return granted.key.empty() ? granted.subject == holder->subject : granted.key == holder->key;
  }
  bool operator()(const WorkerHolder& granted) const {
    const auto* holder = std::get_if<WorkerHolder>(&who);
    return holder && globMatches(granted.name, holder->name) &&
           globMatches(granted.operatorName, holder->operatorName);
  }
  bool operator()(const TokenHolder& granted) const {
    const auto* holder = std::get_if<TokenHolder>(&who);
    return holder && granted.issuer == holder->issuer &&
           (granted.subject.empty() || claimMatches(granted.subject, holder->subject));
  }
};

bool isFor(const Grant& grant, const Identity& who) {
  if (!std::visit(IsFor{who}, grant.who)) return false;
  const auto* holder = std::get_if<TokenHolder>(&who);
  return !holder || unmet(grant.claims, *holder).empty();
}

bool isIn(const Grant& grant, std::string_view instance) {
  return std::ranges::any_of(
      grant.instances, [&](const std::string& name) { return name == kEveryInstance || name == instance; });
}

}  // namespace

Result<AccessRules> AccessRules::parse(std::string_view text, const NamedFiles& files) {
  KILN_ASSIGN(const Json json, parseStrictJson(text, {.bytes = kMaxFileBytes, .depth = 8}));
  KILN_ASSIGN(ObjectReader reader, ObjectReader::open(json, "access"));
  KILN_TRY(reader.expect("apiVersion", "kiln/v1"));
  KILN_TRY(reader.expect("kind", "Access"));
  AccessRules rules;
  KILN_TRY(forEach(reader, "tokenIssuers", [&](ObjectReader& entry) -> Status {
    KILN_ASSIGN(TokenIssuer issuer, readTokenIssuer(entry, files));
    // Two entries could differ in the audience, and only the first would count.
    if (std::ranges::find(rules.tokenIssuers_, issuer.issuer, &TokenIssuer::issuer) !=
        rules.tokenIssuers_.end())
      return badMember(entry.path("issuer"), "is there twice");
    rules.tokenIssuers_.push_back(std::move(issuer));
    if (std::ranges::count_if(rules.tokenIssuers_, [](const TokenIssuer& one) {
          return one.discovery.has_value();
        }) > static_cast<std::ptrdiff_t>(kMaxDiscovered))
      return badMember(entry.path("discovery"), "is that of a seventeenth issuer; there may be 16");
    return {};
  }));
  KILN_TRY(forEach(reader, "grants", [&](ObjectReader& entry) -> Status {
    KILN_ASSIGN(Grant grant, readGrant(entry, rules.tokenIssuers_, rules.grants_.size()));
    rules.grants_.push_back(std::move(grant));
    return {};
  }));
  if (reader.has("revokedCertificates")) {
    KILN_TRY(forEach(reader, "revokedCertificates", [&](ObjectReader& entry) -> Status {
      KILN_ASSIGN(CertificateId id, readCertificateId(entry));
      rules.revoked_.insert(std::move(id));
      return {};
    }));
  }
  KILN_TRY(reader.finish());
  return rules;
}

Result<AccessRules> AccessRules::load(const std::string& path) {
  KILN_ASSIGN(const std::string text, signing::readTrustFile(path, kMaxFileBytes));
  const auto beside = std::filesystem::absolute(path).parent_path();
  const auto pathOf = [&](const std::string& name) { return (beside / name).string(); };
  auto rules = parse(
      text,
      {.read = [&](const std::string& name) { return signing::readTrustFile(pathOf(name), kMaxKeySetBytes); },
       .path = pathOf});
  if (!rules) return fail(rules.error().in(path));
  return rules;
}

Roles AccessRules::rolesOf(const Identity& who, std::string_view instance) const {
  Roles roles;
  if (std::holds_alternative<LocalUser>(who))
    for (Role role : kEveryRole) roles.add(role);
  if (std::holds_alternative<LoopbackCaller>(who)) roles.add(Role::kSubmitter);
  for (const Grant& grant : grants_)
    if (isIn(grant, instance) && isFor(grant, who)) roles.add(grant.roles);
  return roles;
}

Roles AccessRules::rolesAnywhere(const Identity& who) const {
  Roles roles = rolesOf(who, kEveryInstance);
  for (const Grant& grant : grants_)
    if (isFor(grant, who)) roles.add(grant.roles);
  return roles;
}

std::vector<GrantVerdict> AccessRules::explain(const TokenHolder& who) const {
  std::vector<GrantVerdict> out;
  for (const Grant& grant : grants_) {
    const auto* granted = std::get_if<TokenHolder>(&grant.who);
    if (!granted || granted->issuer != who.issuer) continue;
    const bool subject = granted->subject.empty() || claimMatches(granted->subject, who.subject);
    out.push_back({&grant, subject ? unmet(grant.claims, who)
                                   : "the subject is " + inQuotes(who.subject) + " and not " +
                                         inQuotes(granted->subject)});
  }
  return out;
}

std::string AccessRules::grantFor(const Identity& who, Roles roles, std::string_view instance) const {
  const auto found = std::ranges::find_if(grants_, [&](const Grant& grant) {
    return grant.roles.meets(roles) && isIn(grant, instance) && isFor(grant, who);
  });
  return found == grants_.end() ? "" : found->name;
}

InstanceSet AccessRules::instancesOf(const Identity& who, Role role) const {
  return instancesWith(who, {role});
}

InstanceSet AccessRules::instancesOf(const Identity& who) const {
  Roles every;
  for (Role role : kEveryRole) every.add(role);
  return instancesWith(who, every);
}

InstanceSet AccessRules::instancesWith(const Identity& who, Roles any) const {
  if (std::holds_alternative<LocalUser>(who)) return {.all = true, .names = {}};
  if (std::holds_alternative<LoopbackCaller>(who)) return {.all = any.meets({Role::kSubmitter}), .names = {}};
  InstanceSet out;
  std::set<std::string> names;
  for (const Grant& grant : grants_) {
    if (!grant.roles.meets(any) || !isFor(grant, who)) continue;
    for (const std::string& name : grant.instances) {
      if (name == kEveryInstance) out.all = true;
      names.insert(name);
    }
  }
  if (!out.all) out.names.assign(names.begin(), names.end());
  return out;
}

}  // namespace kiln::access
