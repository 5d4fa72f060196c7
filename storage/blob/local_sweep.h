// The sweep of a local store's directory.
#pragma once

#include "storage/blob/store_directory.h"
#include "storage/blob/sweep.h"

namespace kiln::storage {

// As BlobSweeper::sweep(), at `now`. `removed` is told each blob whose bytes went.
Result<SweepReport> sweepDirectory(const StoreDirectory& directory, const NeededBlobs& needed,
                                   const SweepOptions& options, TimePoint now,
                                   const std::function<void(const Digest&)>& removed);

}  // namespace kiln::storage
