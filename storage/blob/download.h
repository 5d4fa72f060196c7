// Reading many small blobs: many with one call.
#pragma once

#include <functional>
#include <span>
#include <string>

#include "storage/blob/blob_store.h"

namespace kiln::storage {

// One of the blobs, or why it is not to be had. An error that is returned ends the reading with it.
using SmallBlobTaker = std::function<Status(const Digest&, Result<std::string>)>;

// Reads each of these blobs, which may repeat, and hands it to `take` once: in no particular order, a few
// megabytes of them in memory at a time. Each is held whole, so they are to be small. Errors are those of
// `take`.
Status readSmallBlobs(BlobStore& store, const std::string& instance, std::span<const Digest> digests,
                      const SmallBlobTaker& take);

}  // namespace kiln::storage
