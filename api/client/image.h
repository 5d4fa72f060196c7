// A verified artifact as a container image in an OCI image layout: what Kubernetes mounts as a volume, and
// what KServe takes for a model. The same artifact with the same bundles gives the same bytes.
#pragma once

#include <string>

#include "api/node/open.h"

namespace kiln::client {

struct ImageSummary {
  Digest image;  // of its manifest
  std::uint64_t bytes = 0;
};

// Two layers: the artifact's own files, which never change, and what is said about them (bundles, fixtures,
// recalls). Below kImageFolder lies what `kiln fetch` leaves, which `kiln verify` takes. The directory
// appears only when it is complete. kAlreadyExists; kUnimplemented for a processor that has no images;
// kDataLoss if a file changes meanwhile.
Result<ImageSummary> exportImage(const node::VerifiedArtifact& artifact, const std::string& destination);

// The digest that exportImage() would give, with nothing written: of a mounted image, its own. Reads all of
// the directory once more.
Result<Digest> imageOf(const node::VerifiedArtifact& artifact);

}  // namespace kiln::client
