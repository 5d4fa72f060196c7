// The trust root: which keys may sign for which builder, and when. Always named by the user, never
// discovered. Form: manifest/schemas/root.schema.json, described in manifest/FORMAT.md.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "manifest/base/clock.h"
#include "manifest/json/json.h"
#include "signing/keys/keys.h"

namespace kiln::signing {

struct TrustedKey {
  PublicKey key;
  TimePoint validFrom, validUntil;
};

// A builder id (runDetails.builder.id) and the ids of the keys that may sign for it.
struct TrustedBuilder {
  std::string id;
  std::vector<std::string> keys;
};

struct TrustRoot {
  bool development = false;  // made by a farm for itself; trusted only where a policy allows it
  std::uint64_t version = 1;
  TimePoint expires;
  std::vector<TrustedBuilder> builders;
  std::vector<TrustedKey> keys;

  Json toJson() const;
  // kInvalidArgument naming the member: unknown members, a keyid that is not its key's, a builder without
  // keys or with keys that are not listed, duplicates.
  static Result<TrustRoot> parse(std::string_view text);
  // Errors name the path.
  static Result<TrustRoot> load(const std::string& path);

  // The key of this id, whatever it may sign; null if the root does not list it.
  const PublicKey* findKey(const std::string& keyId) const;

  // Whether this key may sign for `builderId` at `now`. kPermissionDenied says why not: root expired, unknown
  // key, a builder that this key does not speak for, outside the key's validity.
  Status checkSigner(const std::string& keyId, const std::string& builderId, TimePoint now) const;
};

// A root for a farm on one machine: one key, one builder, both valid for a year from `now`.
TrustRoot developmentRoot(const PublicKey& key, const std::string& builderId, TimePoint now);

}  // namespace kiln::signing
