// Resolves what a recall touches, as the farm's index knows it when the recall is issued.
#pragma once

#include "api/client/client.h"
#include "signing/recall/recalls.h"

namespace kiln::cli {

struct ResolvedRecall {
  std::vector<Digest> listed;  // sorted, each once, sizes 0: as Recall::listed
  // For evidence with a window: from the first to the last of the listed statements in each log; without an
  // end if the window has none.
  std::vector<signing::Recall::LogRange> logs;
  std::uint64_t unread = 0;  // statements that the index has not read yet and that may be missing
};

// Puts the whole digest in the place of a toolchain's label, a part's name, or the first digits of an
// artifact's, a toolchain's or a part's digest, as the farm knows them. kNotFound if it does not;
// kInvalidArgument naming the digests if a name stands for several.
Status nameDigest(client::Client& client, signing::Recall& recall);

// Asks the farm's auditors' service, all pages. Each answer is checked: the bundle in the CAS holds the
// statement that the index names, about that artifact. A source or record that is named by its first digits
// gets its whole digest from there. kNotFound for what the farm has never seen; kResourceExhausted if it is
// more than a recall can list; kDataLoss if the index and a bundle contradict each other.
Result<ResolvedRecall> resolveRecall(client::Client& client, signing::Recall& recall);

}  // namespace kiln::cli
