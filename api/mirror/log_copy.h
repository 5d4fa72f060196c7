// Copies a log, and proves on the way that it is one: every tile is computed here from the entries, and
// counts once it leads to the checkpoint that the log has signed.
#pragma once

#include <cstdint>
#include <functional>

#include "signing/follow/log_source.h"
#include "signing/follow/tile_directory.h"
#include "signing/trust/root_logs.h"

namespace kiln::mirror {

// Not thread safe; all must outlive it.
class LogCopy {
 public:
  LogCopy(signing::LogSource& source, signing::WritableTiles& tiles, const signing::RootLogs& logs)
      : source_(source), tiles_(tiles), logs_(logs) {}

  // Brings the copy to the source's newest checkpoint, of which it publishes the note at the end. `have` is
  // how many entries' tiles are here already, as `saved` was told last: it is told after each step, of some
  // tiles, once these are durable. kDataLoss (exitCode 5), and nothing more is taken, if the source shows
  // fewer entries than the copy has published, others, or tiles that do not lead to its checkpoint;
  // kPermissionDenied (exitCode 5) for a checkpoint that no log of the root signed under a key that is valid
  // `now`; kFailedPrecondition if it is another log of the root; errors of asking.
  Status run(std::uint64_t have, TimePoint now, const std::function<Status(std::uint64_t)>& saved);

  // Of the published checkpoint; 0 before the first.
  std::uint64_t size() const { return size_; }

 private:
  Status open(TimePoint now);
  Result<bool> continues(std::uint64_t from);
  Status take(std::uint64_t from, std::uint64_t end);
  Status prove(std::uint64_t size, const signing::TreeHash& root);

  signing::LogSource& source_;
  signing::WritableTiles& tiles_;
  const signing::RootLogs& logs_;
  std::uint64_t size_ = 0;  // published here
  std::string note_;        // the source's newest
  signing::Checkpoint newest_;
};

}  // namespace kiln::mirror
