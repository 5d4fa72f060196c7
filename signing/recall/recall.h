// One recall: something turned out bad, and what that touches. Signed on its own, so that each can be logged
// and carry the signatures that its reach needs. Form: manifest/schemas/recall.schema.json, described in
// manifest/FORMAT.md.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "manifest/base/clock.h"
#include "manifest/base/digest.h"
#include "manifest/json/json.h"

namespace kiln::signing {

inline constexpr char kRecallPayload[] = "application/vnd.kiln.recall.v1+json";
inline constexpr std::size_t kMaxRecallReason = 1000;
inline constexpr std::size_t kMaxRecallListed = 50'000;
// The end of a range of a log that has none.
inline constexpr std::uint64_t kRecallWithoutEnd = INT64_MAX;

enum class RecallKind {
  // Content: these bytes, and all that derives from them.
  kArtifact,
  kToolchain,
  kComponent,
  kSource,  // a blob: the model, its data
  kRecord,  // of a tuner
  // Evidence: what was said by or through these.
  kWorker,
  kOperator,
  kKey,
  kSourceUrl,
  kDevice,
  // Takes another recall back.
  kLift,
};

std::string_view recallKindName(RecallKind kind);  // "artifact", "source-url", ...
bool isContentRecall(RecallKind kind);

struct Recall {
  struct LogRange {
    std::string origin;
    std::uint64_t from = 0, to = 0;  // entries [from, to)
    bool operator==(const LogRange&) const = default;
  };

  RecallKind kind = RecallKind::kArtifact;
  // "sha256:<hex>" of content, and of the recall that is lifted (its payload); else a worker's or operator's
  // name, a key id, a URL (with a commit and a path only what was made of just that), a device's name.
  std::string what;
  std::string reason;  // for people; 1 to 1000 bytes
  TimePoint issuedOn;
  // Evidence only: from when to when it was bad; what a log holds in one of `logs` was bad whatever time it
  // states. With neither `since` nor `until`, in a log that `logs` names its order alone decides.
  std::optional<TimePoint> since, until;
  std::vector<LogRange> logs;
  // What it was found to touch when it was issued, sorted; sizes are 0. Of content: digests of artifacts and
  // of whatever else derives from it. Of evidence: payloads of statements.
  std::vector<Digest> listed;
  // It reaches beyond the list: everything that names `what`, then and later.
  bool whole = false;

  Json toJson() const;
  // kInvalidArgument naming the member.
  static Result<Recall> fromJson(const Json& json);
};

}  // namespace kiln::signing
