#include "signing/trust/trust_root.h"

#include <algorithm>
#include <set>

#include "manifest/base/printable.h"
#include "manifest/json/reader.h"
#include "signing/keys/files.h"

namespace kiln::signing {
namespace {

constexpr std::size_t kMaxRootBytes = 1u << 20;

Result<TimePoint> readTime(ObjectReader& reader, std::string_view name) {
  KILN_ASSIGN(std::string text, reader.string(name));
  auto time = parseRfc3339(text);
  if (!time) return badMember(reader.path(name), time.error().message);
  return *time;
}

Result<TrustedKey> readKey(const Json& json, const std::string& place) {
  KILN_ASSIGN(ObjectReader reader, ObjectReader::open(json, place));
  KILN_ASSIGN(std::string id, reader.string("keyid"));
  KILN_ASSIGN(std::string text, reader.string("spki"));
  auto der = fromBase64(text);
  if (!der || toBase64(asBytes(*der)) != text) return badMember(reader.path("spki"), "must be base64");
  auto key = PublicKey::fromDer(*der);
  if (!key) return badMember(reader.path("spki"), key.error().message);
  if (key->id() != id) return badMember(reader.path("keyid"), "is not base64(sha256(spki))");
  KILN_ASSIGN(TimePoint from, readTime(reader, "validFrom"));
  KILN_ASSIGN(TimePoint until, readTime(reader, "validUntil"));
  if (until <= from) return badMember(reader.path("validUntil"), "must be after validFrom");
  KILN_TRY(reader.finish());
  return TrustedKey{*key, from, until};
}

Result<TrustedBuilder> readBuilder(const Json& json, const std::string& place,
                                   const std::set<std::string>& known) {
  KILN_ASSIGN(ObjectReader reader, ObjectReader::open(json, place));
  TrustedBuilder builder;
  KILN_ASSIGN(builder.id, reader.string("id"));
  if (builder.id.empty()) return badMember(reader.path("id"), "must not be empty");
  KILN_ASSIGN(builder.keys, reader.strings("keys"));
  if (builder.keys.empty()) return badMember(reader.path("keys"), "must name a key");
  std::set<std::string> seen;
  for (const std::string& id : builder.keys) {
    if (!known.contains(id))
      return badMember(reader.path("keys"), "names a key that is not among the root's keys");
    if (!seen.insert(id).second) return badMember(reader.path("keys"), "names a key twice");
  }
  KILN_TRY(reader.finish());
  return builder;
}

tl::unexpected<Error> denied(const std::string& why) {
  return fail(Code::kPermissionDenied, why);
}

}  // namespace

Json TrustRoot::toJson() const {
  Json keyList = Json::array(), builderList = Json::array();
  for (const TrustedKey& one : keys)
    keyList.push_back({{"keyid", one.key.id()},
                       {"spki", toBase64(asBytes(one.key.der()))},
                       {"validFrom", rfc3339(one.validFrom)},
                       {"validUntil", rfc3339(one.validUntil)}});
  for (const TrustedBuilder& builder : builders)
    builderList.push_back({{"id", builder.id}, {"keys", builder.keys}});
  return {{"apiVersion", "kiln/v1"},   {"kind", "TrustRoot"},         {"development", development},
          {"version", version},        {"expires", rfc3339(expires)}, {"builders", std::move(builderList)},
          {"keys", std::move(keyList)}};
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
  KILN_ASSIGN(root.expires, readTime(reader, "expires"));
  KILN_ASSIGN(const Json* keys, reader.array("keys"));
  std::set<std::string> known, ids;
  for (const Json& element : *keys) {
    std::string place = "root.keys[" + std::to_string(root.keys.size()) + "]";
    KILN_ASSIGN(TrustedKey key, readKey(element, place));
    if (!known.insert(key.key.id()).second) return badMember(place, "is listed twice");
    root.keys.push_back(std::move(key));
  }
  KILN_ASSIGN(const Json* builders, reader.array("builders"));
  for (const Json& element : *builders) {
    std::string place = "root.builders[" + std::to_string(root.builders.size()) + "]";
    KILN_ASSIGN(TrustedBuilder builder, readBuilder(element, place, known));
    if (!ids.insert(builder.id).second) return badMember(place, "is listed twice");
    root.builders.push_back(std::move(builder));
  }
  KILN_TRY(reader.finish());
  return root;
}

Result<TrustRoot> TrustRoot::load(const std::string& path) {
  KILN_ASSIGN(std::string text, readTextFile(path, kMaxRootBytes));
  auto root = parse(text);
  if (!root) return fail(root.error().in(path));
  return root;
}

const PublicKey* TrustRoot::findKey(const std::string& keyId) const {
  auto key =
      std::find_if(keys.begin(), keys.end(), [&](const TrustedKey& one) { return one.key.id() == keyId; });
  return key == keys.end() ? nullptr : &key->key;
}

Status TrustRoot::checkSigner(const std::string& keyId, const std::string& builderId, TimePoint now) const {
  if (now >= expires) return denied("the trust root expired on " + rfc3339(expires) + "; get a newer one");
  auto key =
      std::find_if(keys.begin(), keys.end(), [&](const TrustedKey& one) { return one.key.id() == keyId; });
  if (key == keys.end()) return denied("signed with a key that the trust root does not list");
  auto builder = std::find_if(builders.begin(), builders.end(),
                              [&](const TrustedBuilder& one) { return one.id == builderId; });
  if (builder == builders.end())
    return denied("builder " + inQuotes(builderId) + " is not in the trust root");
  if (std::find(builder->keys.begin(), builder->keys.end(), keyId) == builder->keys.end())
    return denied("key " + keyId + " does not speak for builder " + inQuotes(builderId));
  if (now < key->validFrom || now >= key->validUntil)
    return denied("key " + keyId + " is valid from " + rfc3339(key->validFrom) + " to " +
                  rfc3339(key->validUntil) + ", and it is " + rfc3339(now));
  return {};
}

TrustRoot developmentRoot(const PublicKey& key, const std::string& builderId, TimePoint now) {
  // An hour of grace before `now`, for clocks that are not quite one.
  TimePoint from = now - std::chrono::hours(1), until = now + std::chrono::days(365);
  return {true, 1, until, {{builderId, {key.id()}}}, {{key, from, until}}};
}

}  // namespace kiln::signing
