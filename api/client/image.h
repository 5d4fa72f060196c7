// A verified artifact as a container image in an OCI image layout: what Kubernetes mounts as a volume, and
// what KServe takes for a model. The same artifact with the same bundles gives the same bytes.
#pragma once

#include <string>

#include "api/node/open.h"

namespace kiln::client {

// Where the files lie in the image; KServe looks for a model there.
inline constexpr char kImageFolder[] = "models";

struct ImageSummary {
  Digest image;  // of its manifest
  std::uint64_t bytes = 0;
};

// Two layers: the artifact's own files, which never change, and what is said about them (bundles, fixtures,
// recalls). Below kImageFolder lies what `kiln fetch` leaves, which `kiln verify` takes. The directory
// appears only when it is complete. kAlreadyExists; kUnimplemented for a processor that has no images;
// kDataLoss if a file changes meanwhile.
Result<ImageSummary> exportImage(const node::VerifiedArtifact& artifact, const std::string& destination);

}  // namespace kiln::client
