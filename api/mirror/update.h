// One update of a mirror: what the farm has that the mirror lacks.
#pragma once

#include <functional>
#include <string>

#include "api/mirror/farm.h"
#include "api/mirror/mirror_directory.h"
#include "api/node/trust.h"

namespace kiln::mirror {

struct UpdateOptions {
  std::uint64_t maxBytes = 0;  // of all blobs; 0: as much as the disk holds
  bool all = false;            // looks at every artifact and every blob again
  // Told each artifact that is not taken and why, and what else somebody should know.
  std::function<void(const std::string&)> tell = [](const std::string&) {};
};

struct UpdateReport {
  std::uint64_t artifacts = 0;                     // that the mirror has
  std::uint64_t taken = 0, changed = 0, same = 0;  // artifacts that were looked at
  std::uint64_t refused = 0;                       // in all: of them nothing new is served
  std::uint64_t unverified =
      0;  // refused now for bytes or signatures that are wrong, not for policy or recall
  std::uint64_t logEntries = 0;  // that the mirror has
  std::uint64_t recalls = 0;     // their version; 0 for none
};

// The order: recalls, which must extend those known; the log, which must continue the copy here; then
// artifacts, those that were there at first by their digests and what came since by the log's entries. How
// far it came is durable after each page. `trust` learns. What does not verify is no error of the whole but
// for recalls and the log: those are kDataLoss or kPermissionDenied with exitCode 5. Other errors: of the
// farm being asked; kResourceExhausted when there is no room; those of MirrorDirectory.
Result<UpdateReport> update(const MirrorDirectory& directory, Farm& farm, node::Trust& trust,
                            const Clock& clock, const UpdateOptions& options);

}  // namespace kiln::mirror
