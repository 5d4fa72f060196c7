#include "api/pull/fetch_from.h"

#include "api/pull/seen_logs.h"

namespace kiln::pull {

Result<signing::Verdict> fetchFrom(Mirror& mirror, const Digest& artifact, const Destination& to,
                                   const std::string& rootPath, node::Trust& trust, const Clock& clock) {
  KILN_ASSIGN(auto seen, SeenLogs::open(rootPath));
  KILN_ASSIGN(const std::string checkpoint, seen.check(mirror.log(), trust, clock.now()));
  KILN_ASSIGN(const auto ref, mirror.find(artifact));
  KILN_TRY(checkRecallsFresh(ref.recalls, trust));
  KILN_TRY(trust.learnCarried(ref.recalls));
  auto verdict = to.ir ? node::fetchIr(mirror.blobs(), ref, to.directory, trust, clock)
                       : node::fetchArtifact(mirror.blobs(), ref, to.directory, trust, clock, to.progress);
  if (verdict) KILN_TRY(seen.remember(checkpoint));
  return verdict;
}

}  // namespace kiln::pull
