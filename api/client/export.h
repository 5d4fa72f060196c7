// A verified artifact as an OCI image layout, with its bundles and fixtures as what refers to it, and on
// request with everything that a rebuild needs.
#pragma once

#include <string>

#include "api/node/open.h"
#include "storage/blob/blob_store.h"

namespace kiln::client {

struct ExportRequest {
  const node::VerifiedArtifact& artifact;
  std::string destination;  // made; must not be there
  // Where the closure is; null: without inputs.
  storage::BlobStore* store = nullptr;
  std::string instance;
  bool withNvidia = false;  // NVIDIA's parts of the toolchain too, not only their digests
};

struct ExportSummary {
  Digest artifact;
  std::size_t bundles = 0, fixtures = 0;
  std::size_t inputs = 0;  // blobs of the closure
  std::uint64_t bytes = 0;
  std::vector<ModelFile> omitted;  // of the closure
};

// The directory appears only when it is complete. kFailedPrecondition if the artifact's provenance names
// another action than its spec defines; kAlreadyExists; otherwise as the store.
Result<ExportSummary> exportArtifact(const ExportRequest& request);

}  // namespace kiln::client
