// The trust root: which keys may sign for which builder and when, which keys are revoked, which logs,
// witnesses and recalls to believe. Always named by the user, never discovered. Form:
// manifest/schemas/root.schema.json, described in manifest/FORMAT.md; how it lies in a file: signed_root.h.
#pragma once

#include <cstdint>
#include <optional>
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

// A builder id (runDetails.builder.id), or the URI of another author of statements, and the ids of the keys
// that may sign for it.
struct TrustedBuilder {
  std::string id;
  std::vector<std::string> keys;
};

// Keys that act together: what they sign counts if `threshold` different ones signed it.
struct ThresholdKeys {
  int threshold = 1;
  std::vector<PublicKey> keys;
};

// Whose recalls count (signing/recall).
struct RecallKeys {
  ThresholdKeys issuers;  // of recalls.json as a whole, and of a recall within the scope
  int wideThreshold = 2;  // of a recall beyond it
  int scope = 0;          // how many digests a recall may list before it is wide
};

// A C2SP log or witness. The Ed25519 key is a SubjectPublicKeyInfo in DER.
struct TrustedLog {
  std::string origin;
  std::string spki;
  TimePoint validFrom, validUntil;
};
struct TrustedWitness {
  std::string name;
  std::string spki;
};

// Where a statement stands in a trusted log, once its inclusion is proven.
struct LogPosition {
  std::string origin;
  std::uint64_t index = 0;
  std::optional<TimePoint> cosigned;  // witnesses saw the log with this entry in it at this time
};

struct Revocation {
  struct LogSize {
    std::string origin;
    std::uint64_t size = 0;  // entries before it were made in good faith
  };
  std::string keyId;
  TimePoint at;
  std::string reason;
  std::vector<LogSize> logs;

  // Whether the log proves that the statement came before. Without a place in a log it never does. A log
  // that `logs` names decides by its order, another by the time at which witnesses had seen the entry.
  bool spares(const LogPosition* logged) const;
};

struct TrustRoot {
  bool development = false;  // made by a farm for itself; trusted only where a policy allows it
  std::uint64_t version = 1;
  TimePoint expires;
  std::vector<TrustedBuilder> builders;
  std::vector<TrustedKey> keys;
  std::optional<ThresholdKeys> rootKeys = {};  // sign this root and its successor; absent in development
  std::optional<RecallKeys> recallKeys = {};
  std::vector<TrustedLog> logs = {};
  std::vector<TrustedWitness> witnesses = {};
  std::vector<Revocation> revocations = {};

  Json toJson() const;
  // kInvalidArgument naming the member: unknown members, a keyid that is not its key's, a builder without
  // keys or with keys that are not listed, a threshold without enough keys, duplicates.
  static Result<TrustRoot> parse(std::string_view text);
  // The root that a file holds, whose signatures hold (signed_root.h); nothing is remembered
  // (trust_store.h). Errors name the path.
  static Result<TrustRoot> load(const std::string& path);

  // The key of this id, whatever it may sign; null if the root does not list it.
  const PublicKey* findKey(const std::string& keyId) const;

  // Whether this key may sign for `builderId`. kPermissionDenied says why not: root expired at `now`, unknown
  // key, a builder that this key does not speak for, outside the key's validity, revoked. `logged` is where
  // the statement stands in a log: then the key had to be valid when witnesses saw it there, not `now`.
  Status checkSigner(const std::string& keyId, const std::string& builderId, TimePoint now,
                     const LogPosition* logged = nullptr) const;
};

inline constexpr std::size_t kMaxRootBytes = 1u << 20;
// Bounds the keys of one role: the signatures of an old and a new threshold fit into one envelope.
inline constexpr std::size_t kMaxThresholdKeys = 8;
inline constexpr int kMaxRecallScope = 1'000'000;  // digests that one recall key may list

// A root for a farm on one machine: one key, one builder, both valid for a year from `now`.
TrustRoot developmentRoot(const PublicKey& key, const std::string& builderId, TimePoint now);

}  // namespace kiln::signing
