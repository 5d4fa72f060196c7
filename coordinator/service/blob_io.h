// Reading and writing blobs the way the coordinator does: nothing is taken on trust.
#pragma once

#include <map>
#include <string>

#include "coordinator/jobs/evidence.h"
#include "storage/blob/blob_store.h"

namespace kiln::service {

// Reads the blob to its end and hashes what was read. kDataLoss if it is not what the digest says, kNotFound if it is
// not there.
Status rehash(storage::BlobStore& blobs, const std::string& instance, const Digest& digest);

// Stores those that are not there yet, with one wait for the disk.
Status storeBlobs(storage::BlobStore& blobs, const std::string& instance, const std::map<Digest, std::string>& contents);

// The last `limit` bytes.
Result<std::string> readTail(storage::BlobStore& blobs, const std::string& instance, const Digest& digest,
                             std::uint64_t limit);

}  // namespace kiln::service
