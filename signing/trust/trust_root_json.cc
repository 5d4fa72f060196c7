// The form of a trust root.
#include <algorithm>
#include <set>

#include "manifest/json/reader.h"
#include "manifest/statement/members.h"
#include "signing/trust/trust_root.h"

namespace kiln::signing {
namespace {

constexpr std::size_t kMaxText = 1000;

Result<std::string> readName(ObjectReader& reader, std::string_view name) {
  KILN_ASSIGN(std::string text, reader.string(name));
  if (text.empty() || text.size() > kMaxText)
    return badMember(reader.path(name), "must have 1 to 1000 bytes");
  return text;
}

struct Validity {
  TimePoint from, until;
};
Result<Validity> readValidity(ObjectReader& reader) {
  Validity out;
  KILN_ASSIGN(out.from, readTimeMember(reader, "validFrom"));
  KILN_ASSIGN(out.until, readTimeMember(reader, "validUntil"));
  if (out.until <= out.from) return badMember(reader.path("validUntil"), "must be after validFrom");
  return out;
}

Result<std::string> readSpki(ObjectReader& reader) {
  KILN_ASSIGN(std::string text, reader.string("spki"));
  auto der = fromBase64(text);
  if (!der) return badMember(reader.path("spki"), "must be base64");
  return *der;
}

Status checkKeyId(ObjectReader& reader, const std::string& spki) {
  KILN_ASSIGN(std::string id, reader.string("keyid"));
  if (toBase64(digestOf(spki).hash) != id)
    return badMember(reader.path("keyid"), "is not base64(sha256(spki))");
  return {};
}

Result<PublicKey> readKey(ObjectReader& reader) {
  KILN_ASSIGN(const std::string der, readSpki(reader));
  auto key = PublicKey::fromDer(der);
  if (!key) return badMember(reader.path("spki"), key.error().message);
  KILN_TRY(checkKeyId(reader, der));
  return *key;
}

// A SubjectPublicKeyInfo of Ed25519 has one form: this and the 32 bytes of the key (RFC 8410).
Result<std::string> readEd25519(ObjectReader& reader) {
  constexpr std::string_view kPrefix("\x30\x2a\x30\x05\x06\x03\x2b\x65\x70\x03\x21\x00", 12);
  KILN_ASSIGN(std::string der, readSpki(reader));
  if (der.size() != kPrefix.size() + 32 || !der.starts_with(kPrefix))
    return badMember(reader.path("spki"), "must be an Ed25519 key");
  KILN_TRY(checkKeyId(reader, der));
  return der;
}

// Reads the objects of an array, refusing two that `name` calls the same.
template <class T, class Read, class Name>
Result<std::vector<T>> readList(ObjectReader& parent, std::string_view member, Read read, Name name) {
  KILN_ASSIGN(const Json* list, parent.array(member));
  std::vector<T> out;
  std::set<std::string> seen;
  for (const Json& element : *list) {
    const std::string place = parent.path(member) + "[" + std::to_string(out.size()) + "]";
    KILN_ASSIGN(ObjectReader reader, ObjectReader::open(element, place));
    KILN_ASSIGN(T one, read(reader));
    KILN_TRY(reader.finish());
    if (!seen.insert(name(one)).second) return badMember(place, "is listed twice");
    out.push_back(std::move(one));
  }
  return out;
}

Result<TrustedKey> readTrustedKey(ObjectReader& reader) {
  KILN_ASSIGN(PublicKey key, readKey(reader));
  KILN_ASSIGN(Validity validity, readValidity(reader));
  return TrustedKey{std::move(key), validity.from, validity.until};
}

Result<TrustedBuilder> readBuilder(ObjectReader& reader, const TrustRoot& root) {
  TrustedBuilder builder;
  KILN_ASSIGN(builder.id, reader.string("id"));
  if (builder.id.empty()) return badMember(reader.path("id"), "must not be empty");
  KILN_ASSIGN(builder.keys, reader.strings("keys"));
  if (builder.keys.empty()) return badMember(reader.path("keys"), "must name a key");
  std::set<std::string> seen;
  for (const std::string& id : builder.keys) {
    if (!root.findKey(id))
      return badMember(reader.path("keys"), "names a key that is not among the root's keys");
    if (!seen.insert(id).second) return badMember(reader.path("keys"), "names a key twice");
  }
  return builder;
}

Result<ThresholdKeys> readThreshold(ObjectReader& reader) {
  ThresholdKeys out;
  KILN_ASSIGN(out.keys, (readList<PublicKey>(reader, "keys", readKey, [](auto& key) { return key.id(); })));
  if (out.keys.empty() || out.keys.size() > kMaxThresholdKeys)
    return badMember(reader.path("keys"), "must hold 1 to 8 keys");
  KILN_ASSIGN(std::int64_t threshold,
              reader.integer("threshold", 1, static_cast<std::int64_t>(out.keys.size())));
  out.threshold = static_cast<int>(threshold);
  return out;
}

Result<RecallKeys> readRecallKeys(ObjectReader& reader) {
  RecallKeys out;
  KILN_ASSIGN(out.issuers, readThreshold(reader));
  KILN_ASSIGN(std::int64_t wide, reader.integer("wideThreshold", out.issuers.threshold,
                                                static_cast<std::int64_t>(out.issuers.keys.size())));
  KILN_ASSIGN(std::int64_t scope, reader.integer("scope", 0, kMaxRecallScope));
  out.wideThreshold = static_cast<int>(wide);
  out.scope = static_cast<int>(scope);
  return out;
}

Result<TrustedLog> readLog(ObjectReader& reader) {
  TrustedLog log;
  KILN_ASSIGN(log.origin, readName(reader, "origin"));
  KILN_ASSIGN(log.spki, readEd25519(reader));
  KILN_ASSIGN(Validity validity, readValidity(reader));
  log.validFrom = validity.from;
  log.validUntil = validity.until;
  return log;
}

Result<TrustedWitness> readWitness(ObjectReader& reader) {
  TrustedWitness witness;
  KILN_ASSIGN(witness.name, readName(reader, "name"));
  KILN_ASSIGN(witness.spki, readEd25519(reader));
  return witness;
}

Result<Revocation::LogSize> readLogSize(ObjectReader& reader) {
  Revocation::LogSize out;
  KILN_ASSIGN(out.origin, readName(reader, "origin"));
  KILN_ASSIGN(out.size, reader.unsigned64("size"));
  return out;
}

Result<Revocation> readRevocation(ObjectReader& reader, const TrustRoot& root) {
  Revocation out;
  KILN_ASSIGN(out.keyId, reader.string("keyid"));
  if (!root.findKey(out.keyId))
    return badMember(reader.path("keyid"), "names a key that is not among the root's keys");
  KILN_ASSIGN(out.at, readTimeMember(reader, "at"));
  KILN_ASSIGN(out.reason, readName(reader, "reason"));
  if (reader.has("logs")) {
    KILN_ASSIGN(out.logs, (readList<Revocation::LogSize>(reader, "logs", readLogSize,
                                                         [](auto& one) { return one.origin; })));
  }
  return out;
}

Status readLogs(ObjectReader& reader, TrustRoot& root) {
  if (reader.has("logs")) {
    KILN_ASSIGN(root.logs,
                (readList<TrustedLog>(reader, "logs", readLog, [](auto& one) { return one.spki; })));
  }
  if (reader.has("witnesses")) {
    KILN_ASSIGN(root.witnesses, (readList<TrustedWitness>(reader, "witnesses", readWitness,
                                                          [](auto& one) { return one.name; })));
  }
  return {};
}

Status readRoles(ObjectReader& reader, TrustRoot& root) {
  if (reader.has("rootKeys")) {
    KILN_ASSIGN(ObjectReader role, reader.object("rootKeys"));
    KILN_ASSIGN(root.rootKeys, readThreshold(role));
    KILN_TRY(role.finish());
  }
  if (reader.has("recallKeys")) {
    KILN_ASSIGN(ObjectReader role, reader.object("recallKeys"));
    KILN_ASSIGN(root.recallKeys, readRecallKeys(role));
    KILN_TRY(role.finish());
  }
  return {};
}

Json keyJson(const std::string& spki) {
  return {{"keyid", toBase64(digestOf(spki).hash)}, {"spki", toBase64(asBytes(spki))}};
}

Json thresholdJson(const ThresholdKeys& role) {
  Json keys = Json::array();
  for (const PublicKey& key : role.keys) keys.push_back(keyJson(key.der()));
  return {{"threshold", role.threshold}, {"keys", std::move(keys)}};
}

Json revocationJson(const Revocation& revocation) {
  Json out{{"keyid", revocation.keyId}, {"at", rfc3339(revocation.at)}, {"reason", revocation.reason}};
  for (const Revocation::LogSize& log : revocation.logs)
    out["logs"].push_back({{"origin", log.origin}, {"size", std::to_string(log.size)}});
  return out;
}

}  // namespace

Json TrustRoot::toJson() const {
  Json keyList = Json::array(), builderList = Json::array();
  for (const TrustedKey& one : keys) {
    Json key = keyJson(one.key.der());
    key["validFrom"] = rfc3339(one.validFrom);
    key["validUntil"] = rfc3339(one.validUntil);
    keyList.push_back(std::move(key));
  }
  for (const TrustedBuilder& builder : builders)
    builderList.push_back({{"id", builder.id}, {"keys", builder.keys}});
  Json out{{"apiVersion", "kiln/v1"},   {"kind", "TrustRoot"},         {"development", development},
           {"version", version},        {"expires", rfc3339(expires)}, {"builders", std::move(builderList)},
           {"keys", std::move(keyList)}};
  if (rootKeys) out["rootKeys"] = thresholdJson(*rootKeys);
  if (recallKeys) {
    out["recallKeys"] = thresholdJson(recallKeys->issuers);
    out["recallKeys"]["wideThreshold"] = recallKeys->wideThreshold;
    out["recallKeys"]["scope"] = recallKeys->scope;
  }
  for (const TrustedLog& log : logs) {
    Json one = keyJson(log.spki);
    one["origin"] = log.origin;
    one["validFrom"] = rfc3339(log.validFrom);
    one["validUntil"] = rfc3339(log.validUntil);
    out["logs"].push_back(std::move(one));
  }
  for (const TrustedWitness& witness : witnesses) {
    Json one = keyJson(witness.spki);
    one["name"] = witness.name;
    out["witnesses"].push_back(std::move(one));
  }
  for (const Revocation& one : revocations) out["revocations"].push_back(revocationJson(one));
  return out;
}

Result<TrustRoot> TrustRoot::parse(std::string_view text) {
  KILN_ASSIGN(Json json, parseStrictJson(text, {.bytes = kMaxRootBytes, .depth = 8}));
  KILN_ASSIGN(ObjectReader reader, ObjectReader::open(json, "root"));
  KILN_TRY(reader.expect("apiVersion", "kiln/v1"));
  KILN_TRY(reader.expect("kind", "TrustRoot"));
  TrustRoot root;
  KILN_ASSIGN(root.development, reader.boolean("development"));
  KILN_ASSIGN(std::int64_t version, reader.integer("version", 1, kMaxJsonInteger));
  root.version = static_cast<std::uint64_t>(version);
  KILN_ASSIGN(root.expires, readTimeMember(reader, "expires"));
  KILN_ASSIGN(root.keys,
              (readList<TrustedKey>(reader, "keys", readTrustedKey, [](auto& one) { return one.key.id(); })));
  KILN_ASSIGN(root.builders, (readList<TrustedBuilder>(
                                 reader, "builders", [&](auto& one) { return readBuilder(one, root); },
                                 [](auto& one) { return one.id; })));
  KILN_TRY(readRoles(reader, root));
  KILN_TRY(readLogs(reader, root));
  if (reader.has("revocations")) {
    KILN_ASSIGN(root.revocations,
                (readList<Revocation>(
                    reader, "revocations", [&](auto& one) { return readRevocation(one, root); },
                    [](auto& one) { return one.keyId; })));
  }
  KILN_TRY(reader.finish());
  return root;
}

}  // namespace kiln::signing
