// The closure of an artifact: its OCI manifest, Manifest and files, all there and rehashed.
#pragma once

#include <string>

#include "manifest/artifact/oci.h"
#include "storage/blob/blob_store.h"

namespace kiln::signing {

struct Closure {
  OciManifest oci;
  Manifest manifest;
};

// Reads and rehashes every blob, whatever the store says about them. kFailedPrecondition naming the blob that
// is missing, corrupt or not what it should be; other codes only if the store itself fails.
Result<Closure> loadClosure(storage::BlobStore& store, const std::string& instance, const Digest& artifact);

// The OCI manifest and the Manifest alone, without the files that they list. Errors as above.
Result<Closure> loadManifests(storage::BlobStore& store, const std::string& instance, const Digest& artifact);

// The same as loadClosure for the fixtures.json with this digest and every file that it lists.
Status checkFixtures(storage::BlobStore& store, const std::string& instance, const Digest& list);

// A blob as text, rehashed. kFailedPrecondition as above.
Result<std::string> loadBlob(storage::BlobStore& store, const std::string& instance, const Digest& digest,
                             std::uint64_t limit, const std::string& what);
// A blob of any size, rehashed. kFailedPrecondition as above.
Status checkBlob(storage::BlobStore& store, const std::string& instance, const Digest& digest,
                 const std::string& what);

}  // namespace kiln::signing
