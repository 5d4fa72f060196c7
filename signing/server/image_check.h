// Whether an image statement may be signed.
#pragma once

#include "manifest/statement/statement.h"
#include "storage/blob/blob_store.h"

namespace kiln::signing {

// kFailedPrecondition unless the artifact, all its files and the bundles that the statement names are in the
// store with their digests, and make the very layers, and with them the image, that it states. Reads all of
// the artifact, once. kInvalidArgument for a statement that is malformed; other codes only if the store
// itself fails.
Status checkImage(storage::BlobStore& store, const std::string& instance, const Statement& statement,
                  const Digest& artifact);

}  // namespace kiln::signing
