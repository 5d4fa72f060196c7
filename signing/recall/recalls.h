// recalls.json: every recall so far, under the keys that a trust root delegates to. Form and rules:
// manifest/FORMAT.md.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "signing/dsse/dsse.h"
#include "signing/recall/recall.h"
#include "signing/recall/recall_log.h"
#include "signing/trust/trust_root.h"

namespace kiln::signing {

inline constexpr char kRecallsPayload[] = "application/vnd.kiln.recalls.v1+json";
// Bounds the file; what the issuers sign is bounded apart (4.5 MiB before base64), so that the proofs of as
// many recalls as it can hold fit beside it, in a log of up to 2^32 entries.
inline constexpr std::size_t kMaxRecallsBytes = 14u << 20;

// Whether a recall needs `wideThreshold` signatures.
bool isWideRecall(const Recall& recall, const RecallKeys& keys);

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

// What a root that names a log asks of recalls.json.
enum class LogProofs {
  kWanted,  // each recall is proven to be in the log
  kIfAny,   // what comes without proof is read all the same: what was taken in before the root named a log,
            // or under the key of a log that it lists no more, and what is on its way into the log
};

struct Recalls {
  std::uint64_t version = 0;
  TimePoint issuedOn, expires;
  std::string checkpoint;            // of the log, a C2SP note: what the issuers had seen; "" for none
  std::vector<RecallEntry> entries;  // in the order of issue; a later version begins with those of an earlier
  std::string payload;               // what the issuers signed
  std::string text;                  // the file: that, the signatures, the proofs
  // That a log of the root holds each entry. False where the root names no log, and for LogProofs::kIfAny
  // where proofs are missing: then the recalls apply, but are no news.
  bool logged = false;
  // Checkpoints of the root's logs: those that were proven to hold the entries, and `checkpoint` if `logged`.
  std::vector<Checkpoint> seen;
  TimePoint cosigned{};  // every witness who saw the newest of its checkpoints did so then or later

  // Reads recalls.json and checks every signature. kPermissionDenied if the root delegates to nobody;
  // kDataLoss if too few keys signed the document or, for its reach, an entry: `wideThreshold` for one that
  // is whole or lists more than `scope`, and for lifting such a one; kInvalidArgument naming the member.
  // Where the root names a log: kDataLoss if the proofs are missing or do not hold, or a checkpoint is not
  // signed as it says; kPermissionDenied if it is of no log of the root, or its key was not valid: for
  // LogProofs::kIfAny that is as good as no proof.
  static Result<Recalls> parse(std::string_view text, const TrustRoot& root,
                               LogProofs proofs = LogProofs::kWanted);

  // Signs the next version: `before`'s entries (null: none) and one more, or none, just to be news again.
  // `keys` are the issuers that sign now.
  static Result<std::string> issue(const Recalls* before, const std::optional<Recall>& recall,
                                   std::span<const PrivateKey> keys, TimePoint now, TimePoint expires,
                                   const std::string& checkpoint);

  // Signs a version that lacks signatures once more: its last entry with `keys` beside those that signed, and
  // the document. Signatures of the document by others stay if the entry needed none of `keys`, else they are
  // void and made again by another round. kInvalidArgument if it is no such document. What comes out may
  // still lack some: parse() tells.
  static Result<std::string> cosign(std::string_view text, std::span<const PrivateKey> keys);

  // The file with these proofs instead of what it came with.
  static Result<std::string> prove(std::string_view text, const RecallLog& log);

  // Whether this begins with everything that `before` holds.
  bool extends(const Recalls& before) const;
  // kDataLoss if a log that both have seen is shorter here than in `before`, or another one of the same size.
  Status continuesLogs(const Recalls& before) const;

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
