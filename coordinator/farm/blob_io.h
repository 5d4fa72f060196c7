// Reading and writing blobs the way the coordinator does: nothing is taken on trust.
#pragma once

#include <map>
#include <string>

#include "manifest/base/digest.h"
#include "storage/blob/blob_store.h"

namespace kiln::service {

// Reads the blob to its end and hashes what was read. kDataLoss if it is not what the digest says, kNotFound
// if it is not there.
Status rehash(storage::BlobStore& blobs, const std::string& instance, const Digest& digest);
// The same of each of them; `named` says what each is, for messages. kInvalidArgument for more than 64 GiB
// together: no sandbox would have let that through.
Status rehashAll(storage::BlobStore& blobs, const std::string& instance,
                 const std::map<Digest, std::string>& named);

// The last `limit` bytes.
Result<std::string> readTail(storage::BlobStore& blobs, const std::string& instance, const Digest& digest,
                             std::uint64_t limit);

}  // namespace kiln::service
