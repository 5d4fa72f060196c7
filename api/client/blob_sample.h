// A sample of what a farm stores, read back and held against its hashes.
#pragma once

#include <cstdint>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "manifest/base/digest.h"
#include "manifest/base/result.h"
#include "storage/blob/blob_store.h"

namespace kiln::client {

struct BlobSample {
  std::size_t artifacts = 0;          // whose manifests were read
  std::size_t blobs = 0;              // read whole
  std::uint64_t bytes = 0;            // of these
  std::vector<std::string> problems;  // one sentence per blob that is missing or has other bytes
};

// Reads the OCI manifests named (of artifacts) and, in random order, blobs that these name, until `byteLimit`
// bytes are read; larger blobs than what is left of it are passed over. Every byte is hashed here. Fails only
// where the store cannot be asked (kUnavailable, kPermissionDenied, kUnauthenticated).
Result<BlobSample> sampleBlobs(storage::BlobStore& store, const std::string& instance,
                               std::span<const Digest> manifests, std::uint64_t byteLimit,
                               std::mt19937_64& random);

}  // namespace kiln::client
