// recalls.json: every recall so far, under the keys that a trust root delegates to. Form and rules:
// manifest/FORMAT.md.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "signing/dsse/dsse.h"
#include "signing/recall/recall.h"
#include "signing/trust/trust_root.h"

namespace kiln::signing {

inline constexpr char kRecallsPayload[] = "application/vnd.kiln.recalls.v1+json";
inline constexpr std::size_t kMaxRecallsBytes = 6u << 20;

// A recall as it was signed.
struct RecallEntry {
  Envelope envelope;
  Recall recall;
  bool lifted = false;

  // What a lift names: the digest of the payload.
  Digest id() const { return digestOf(envelope.payload); }
};

// A statement that evidence recalls may touch.
struct StatementPlace {
  Digest payload;
  std::optional<TimePoint> madeAt;      // as it says itself
  const LogPosition* logged = nullptr;  // where a log has it
};

struct Recalls {
  std::uint64_t version = 0;
  TimePoint issuedOn, expires;
  std::string checkpoint;            // of the log, a C2SP note: what the issuer had seen; "" without a log
  std::vector<RecallEntry> entries;  // in the order of issue; a later version begins with those of an earlier
  std::string text;                  // the file

  // Reads recalls.json and checks every signature. kPermissionDenied if the root delegates to nobody;
  // kDataLoss if too few keys signed the document or, for its reach, an entry: `wideThreshold` for one that
  // is whole or lists more than `scope`, and for lifting such a one; kInvalidArgument naming the member.
  static Result<Recalls> parse(std::string_view text, const TrustRoot& root);

  // Signs the next version: `before`'s entries (null: none) and one more, or none, just to be news again.
  // `keys` are the issuers that sign now.
  static Result<std::string> issue(const Recalls* before, const std::optional<Recall>& recall,
                                   std::span<const PrivateKey> keys, TimePoint now, TimePoint expires,
                                   const std::string& checkpoint);

  // Signs a version that lacks signatures once more: its last entry with `keys` beside those that signed, the
  // document with `keys` alone. kInvalidArgument if it is no such document. What comes out may still lack
  // some: parse() tells.
  static Result<std::string> cosign(std::string_view text, std::span<const PrivateKey> keys);

  // Whether this begins with everything that `before` holds.
  bool extends(const Recalls& before) const;

  // The recall that condemns these bytes; null if none does.
  const RecallEntry* condemns(const Digest& digest) const;
  // The recall that touches a statement as one by this key, from these sources, about these devices; null if
  // none does.
  const RecallEntry* touches(const StatementPlace& place, const std::string& keyId,
                             std::span<const std::string> sources,
                             std::span<const std::string> devices) const;
  // The recall that takes from a statement what this worker did; null if none does.
  const RecallEntry* touchesWorker(const StatementPlace& place, const std::string& worker,
                                   const std::string& operatorName) const;
};

// "recalled on <time>: <reason> (toolchain sha256:...)", for messages.
std::string describe(const RecallEntry& entry);

}  // namespace kiln::signing
