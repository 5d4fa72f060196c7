#include "api/cli/trust/trust_edit.h"

#include <algorithm>
#include <functional>
#include <set>
#include <utility>

#include "manifest/base/printable.h"

namespace kiln::cli {
namespace {

Result<signing::PublicKey> artifactKey(const NewKey& key) {
  auto made = signing::PublicKey::fromDer(key.spki);
  if (!made) return fail(Code::kInvalidArgument, "this role wants a P-256 key: " + made.error().message);
  return made;
}

tl::unexpected<Error> alreadyThere(const std::string& id) {
  return fail(Code::kAlreadyExists, "key " + id + " has this role already");
}

Status addTo(signing::ThresholdKeys& role, const NewKey& key) {
  KILN_ASSIGN(signing::PublicKey made, artifactKey(key));
  if (std::ranges::any_of(role.keys, [&](auto& one) { return one.id() == made.id(); }))
    return alreadyThere(made.id());
  role.keys.push_back(std::move(made));
  return {};
}

signing::TrustedBuilder* findBuilder(signing::TrustRoot& root, const std::string& id) {
  auto at = std::ranges::find(root.builders, id, &signing::TrustedBuilder::id);
  return at == root.builders.end() ? nullptr : &*at;
}

Status addSigner(signing::TrustRoot& root, const NewKey& key) {
  KILN_ASSIGN(signing::PublicKey made, artifactKey(key));
  const std::string id = made.id();
  signing::TrustedBuilder* builder = findBuilder(root, key.id);
  if (builder && std::ranges::find(builder->keys, id) != builder->keys.end()) return alreadyThere(id);
  if (!root.findKey(id)) root.keys.push_back({std::move(made), key.validFrom, key.validUntil});
  if (builder)
    builder->keys.push_back(id);
  else
    root.builders.push_back({key.id, {id}});
  return {};
}

constexpr std::pair<KeyRole, const char*> kRoles[] = {{KeyRole::kSigner, "signer"},
                                                      {KeyRole::kRoot, "root"},
                                                      {KeyRole::kRecall, "recall"},
                                                      {KeyRole::kLog, "log"},
                                                      {KeyRole::kWitness, "witness"}};

// "; it lists a, b", each once.
template <class Items, class Name>
std::string listOf(const Items& items, Name name) {
  std::set<std::string> names;
  for (const auto& one : items) names.insert(printable(std::invoke(name, one)));
  std::string out;
  for (const std::string& one : names) out += (out.empty() ? "" : ", ") + one;
  return std::string("; it lists ") + (out.empty() ? "none" : out);
}

std::string signersOf(const signing::TrustRoot& root) {
  return listOf(root.builders, &signing::TrustedBuilder::id);
}

std::string logsOf(const signing::TrustRoot& root) {
  return listOf(root.logs, &signing::TrustedLog::origin);
}

bool hasRole(const signing::TrustRoot& root, KeyRole role, const std::string& spki) {
  const auto among = [&](const std::vector<signing::PublicKey>& keys) {
    return std::ranges::any_of(keys, [&](const auto& one) { return one.der() == spki; });
  };
  switch (role) {
    case KeyRole::kSigner:
      return std::ranges::any_of(root.keys, [&](const auto& one) { return one.key.der() == spki; });
    case KeyRole::kRoot:
      return root.rootKeys && among(root.rootKeys->keys);
    case KeyRole::kRecall:
      return root.recallKeys && among(root.recallKeys->issuers.keys);
    case KeyRole::kLog:
      return std::ranges::find(root.logs, spki, &signing::TrustedLog::spki) != root.logs.end();
    case KeyRole::kWitness:
      return std::ranges::find(root.witnesses, spki, &signing::TrustedWitness::spki) != root.witnesses.end();
  }
  return false;
}

// Whoever gets hold of one key gets one role: the roles are kept apart so that they check each other.
Status checkOneRole(const signing::TrustRoot& root, const NewKey& key) {
  for (const auto& [role, name] : kRoles)
    if (role != key.role && hasRole(root, role, key.spki))
      return fail(Code::kInvalidArgument, "key " + toBase64(digestOf(key.spki).hash) + " has the role " +
                                              name + " in this root; a key has one role, make another");
  return {};
}

}  // namespace

signing::TrustRoot successorOf(const signing::TrustRoot& root, TimePoint expires) {
  signing::TrustRoot next = root;
  ++next.version;
  next.expires = expires;
  return next;
}

Result<KeyRole> parseKeyRole(const std::string& text) {
  if (text == "signer") return KeyRole::kSigner;
  if (text == "root") return KeyRole::kRoot;
  if (text == "recall") return KeyRole::kRecall;
  if (text == "log") return KeyRole::kLog;
  if (text == "witness") return KeyRole::kWitness;
  return fail(Code::kInvalidArgument, "--role " + text + ": one of signer, root, recall, log, witness");
}

Status addKey(signing::TrustRoot& root, const NewKey& key) {
  const bool named = key.role == KeyRole::kRoot || key.role == KeyRole::kRecall || !key.id.empty();
  if (!named)
    return fail(Code::kInvalidArgument,
                "--id is missing: the builder of a signer, the origin of a log, the name of a witness");
  KILN_TRY(checkOneRole(root, key));
  switch (key.role) {
    case KeyRole::kSigner:
      return addSigner(root, key);
    case KeyRole::kRoot:
      if (!root.rootKeys) root.rootKeys.emplace();
      return addTo(*root.rootKeys, key);
    case KeyRole::kRecall:
      if (!root.recallKeys) root.recallKeys = signing::RecallKeys{.issuers = {}, .wideThreshold = 1};
      return addTo(root.recallKeys->issuers, key);
    case KeyRole::kLog:
      if (std::ranges::find(root.logs, key.spki, &signing::TrustedLog::spki) != root.logs.end())
        return alreadyThere(toBase64(digestOf(key.spki).hash));
      root.logs.push_back({key.id, key.spki, key.validFrom, key.validUntil});
      return {};
    case KeyRole::kWitness:
      if (std::ranges::find(root.witnesses, key.spki, &signing::TrustedWitness::spki) != root.witnesses.end())
        return alreadyThere(toBase64(digestOf(key.spki).hash));
      root.witnesses.push_back({key.id, key.spki});
      return {};
  }
  return {};
}

Status rotateSigner(signing::TrustRoot& root, const NewKey& key, TimePoint oldUntil) {
  if (key.id.empty())
    return fail(Code::kInvalidArgument, "--id is missing: name a signer of the root" + signersOf(root));
  const signing::TrustedBuilder* builder = findBuilder(root, key.id);
  if (!builder)
    return fail(Code::kNotFound, "--id: the root lists no signer for " + printable(key.id) + signersOf(root));
  KILN_TRY(checkOneRole(root, key));
  const std::vector<std::string> before = builder->keys;
  KILN_TRY(addSigner(root, key));
  for (signing::TrustedKey& one : root.keys)
    if (std::ranges::find(before, one.key.id()) != before.end() && one.validUntil > oldUntil)
      one.validUntil = oldUntil;
  return {};
}

Status replaceKey(signing::TrustRoot& root, const NewKey& key, const std::string& oldKeyId) {
  signing::ThresholdKeys* role = nullptr;
  if (key.role == KeyRole::kRoot && root.rootKeys) role = &*root.rootKeys;
  if (key.role == KeyRole::kRecall && root.recallKeys) role = &root.recallKeys->issuers;
  if (!role)
    return fail(Code::kInvalidArgument,
                "--role: the root has no keys of this role; kiln trust add-key adds one");
  if (std::erase_if(role->keys, [&](auto& one) { return one.id() == oldKeyId; }) == 0)
    return fail(Code::kNotFound, "--old: no key of this role has the id " + printable(oldKeyId) +
                                     "; kiln trust show lists the keys");
  KILN_TRY(checkOneRole(root, key));
  return addTo(*role, key);
}

Status revokeKey(signing::TrustRoot& root, signing::Revocation revocation) {
  if (!root.findKey(revocation.keyId))
    return fail(Code::kNotFound, "--keyid: no signer's key has the id " + printable(revocation.keyId) +
                                     "; a root or recall key is taken out with kiln trust rotate --old");
  for (const auto& log : revocation.logs)
    if (std::ranges::find(root.logs, log.origin, &signing::TrustedLog::origin) == root.logs.end())
      return fail(Code::kNotFound, "--log: the root lists no log " + printable(log.origin) + logsOf(root));
  const auto known = std::ranges::find(root.revocations, revocation.keyId, &signing::Revocation::keyId);
  if (known != root.revocations.end() && revocation.at > known->at)
    return fail(Code::kAlreadyExists, "key " + revocation.keyId + " is revoked already, since " +
                                          rfc3339(known->at) +
                                          "; --at names an earlier time if that is too late");
  std::erase_if(root.revocations, [&](auto& one) { return one.keyId == revocation.keyId; });
  root.revocations.push_back(std::move(revocation));
  return {};
}

}  // namespace kiln::cli
