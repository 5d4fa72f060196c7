// The proof in a bundle that a log holds its signature. Source: sigstore/protobuf-specs, TransparencyLogEntry
// of sigstore_rekor.proto in its JSON form, kind hashedrekord 0.0.2. Nothing here is verified: signing/log.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "manifest/json/json.h"

namespace kiln::signing {

struct LogEntry {
  std::string logId;  // 32 bytes
  std::uint64_t index = 0;
  std::uint64_t treeSize = 0;
  std::array<std::uint8_t, 32> root{};
  std::vector<std::array<std::uint8_t, 32>> proof;  // at most 64
  std::string checkpoint;                           // a signed note
  std::string leaf;                                 // the canonicalized body

  Json toJson() const;
};

// kInvalidArgument naming the member below `place`. Promises and times that a log states by itself
// (inclusionPromise, integratedTime) are refused: they cannot be checked here.
Result<LogEntry> readLogEntry(const Json& json, const std::string& place);

}  // namespace kiln::signing
