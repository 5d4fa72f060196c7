#include "coordinator/jobs/estimate.h"

#include <bit>

namespace kiln::jobs {

using index::JobSnapshot;
using index::Subject;

Subject subjectOf(const JobSnapshot& snapshot, const index::ActionRecord& action) {
  Subject out;
  if (action.source) {
    const auto& git = snapshot.sources.at(static_cast<std::size_t>(*action.source)).git;
    if (git) out.content = digestOf(git->url);
  } else {
    std::uint64_t bytes = 0;
    for (const index::SourceRecord& source : snapshot.sources)
      if (source.blob) bytes += source.blob->size;
    if (snapshot.sources.front().blob) out.content = *snapshot.sources.front().blob;
    out.magnitude = std::bit_width(bytes);
  }
  out.content.size = 0;
  return out;
}

}  // namespace kiln::jobs
