// A log that is shown to an auditor, held against what it has signed.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "signing/follow/log_source.h"

namespace kiln::audit {

// Not thread safe; the source must outlive it.
class LogHistory {
 public:
  // Reads the newest checkpoint and sees that the tiles lead to it and that it continues `seen`, an earlier
  // signed checkpoint ("": none). kDataLoss if not; kPermissionDenied if none of `logs` signed them.
  static Result<LogHistory> open(signing::LogSource& source, std::vector<signing::VerifierKey> logs,
                                 const std::string& seen);

  const signing::Checkpoint& newest() const { return newest_; }
  std::string note() const { return note_; }  // of the newest, as it was signed
  signing::LogSource& source() const { return *source_; }

  // Whether this log grew from that checkpoint, which one of the logs has signed. One of another log is not
  // this one's matter: true.
  Result<bool> holds(const std::string& checkpoint);

 private:
  LogHistory(signing::LogSource& source, std::vector<signing::VerifierKey> logs)
      : source_(&source), logs_(std::move(logs)) {}
  Status readNewest();
  Status grownFrom(const signing::Checkpoint& earlier);

  signing::LogSource* source_;
  std::vector<signing::VerifierKey> logs_;
  signing::Checkpoint newest_;
  std::string note_;
  std::optional<signing::TileTree> tree_;
  std::map<std::uint64_t, signing::TreeHash> roots_;  // computed before, by size; so many and no more
};

}  // namespace kiln::audit
