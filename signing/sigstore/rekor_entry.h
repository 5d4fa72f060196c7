// What a bundle brings of a Rekor log: an entry, the log's promise with a time, and the proof that a tree
// holds it. Source: sigstore/protobuf-specs, TransparencyLogEntry of sigstore_rekor.proto; rekor, types.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "manifest/json/json.h"
#include "signing/log/merkle.h"
#include "signing/sigstore/log_key.h"

namespace kiln::signing {

struct RekorProof {
  std::uint64_t index = 0, size = 0;  // in the tree, which may be one of several of its log
  TreeHash root{};
  std::vector<TreeHash> hashes;
  std::string checkpoint;  // a signed note
};

struct RekorEntry {
  std::string logId;          // 32 bytes
  std::string kind, version;  // of its body
  std::uint64_t index = 0;
  std::int64_t integrated = 0;  // seconds since 1970; 0 if the log states none
  std::string body;             // JSON; what the leaf hash is of
  std::string promise;          // the signed entry timestamp; "" for none
  std::optional<RekorProof> proof;
};

// kInvalidArgument naming the member below `place`. Nothing in it may be believed before checkRekorEntry().
Result<RekorEntry> readRekorEntry(const Json& json, const std::string& place);

// What an entry shows: when the log took it in, if it promised that.
struct LoggedAt {
  std::optional<TimePoint> time;
  ValidFor validFor;  // of the log's key, for times that others state
};

// kDataLoss unless one of `logs` signed what the entry brings: a promise, a proof with a checkpoint, or both.
// What is there must hold. A time counts only by a promise, and within the validity of the log's key.
Result<LoggedAt> checkRekorEntry(const RekorEntry& entry, std::span<const KnownLog> logs);

}  // namespace kiln::signing
