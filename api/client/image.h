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

enum class ImageContents {
  kAllThatIsSaid,  // bundles, fixtures and recalls as they lie beside the artifact
  kAsPublished,    // the image that its farm made; the layout holds the statement that names it, too
};

inline ImageContents imageContents(bool asPublished) {
  return asPublished ? ImageContents::kAsPublished : ImageContents::kAllThatIsSaid;
}

// Two layers: the artifact's own files, which never change, and what is said about them. Below kImageFolder
// lies what `kiln fetch` leaves, as much of it as there is in the image, which `kiln verify` takes. The
// directory appears only when it is complete. kAlreadyExists; kUnimplemented for a processor that has no
// images; kDataLoss if a file changes meanwhile. As published: errors of publishedImageOf(); kNotFound if a
// bundle that is in that image is not here.
Result<ImageSummary> exportImage(const node::VerifiedArtifact& artifact, const std::string& destination,
                                 ImageContents contents = ImageContents::kAllThatIsSaid);

// The digest that exportImage() would give, with nothing written: of a mounted image, its own. Reads all of
// the directory once more. kDataLoss if anything lies there that the image has not.
Result<Digest> imageOf(const node::VerifiedArtifact& artifact);

}  // namespace kiln::client
