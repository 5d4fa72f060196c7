// The statement that an artifact will not be rebuildable from this farm any more: it may drop what went into
// it. The artifact itself, its statements and their evidence stay. Described in manifest/FORMAT.md.
#pragma once

#include <string>
#include <vector>

#include "manifest/base/clock.h"
#include "manifest/base/digest.h"
#include "manifest/statement/statement.h"

namespace kiln {

inline constexpr char kTombstoneType[] = "urn:kiln:predicate:tombstone:v1";
inline constexpr std::size_t kMaxTombstoneReason = 1000;

struct Tombstone {
  std::string builderId;  // of the farm that says so
  std::string reason;     // for people; 1 to 1000 bytes
  TimePoint issuedOn;
  // The payloads of the provenance statements that it is about, sorted; their sizes are 0. A statement that
  // is not among them keeps what it names.
  std::vector<Digest> statements;

  bool covers(const Digest& payload) const;

  // The predicate.
  Json toJson() const;
  // kInvalidArgument naming the member.
  static Result<Tombstone> fromJson(const Json& predicate);
};

// The statement about one artifact, in canonical JSON: what the signer signs.
Result<std::string> tombstoneStatement(const Digest& artifact, const Tombstone& tombstone);

}  // namespace kiln
