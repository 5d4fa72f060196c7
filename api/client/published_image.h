// The container image that a farm made of an artifact, as its statement names it.
#pragma once

#include "api/node/open.h"
#include "manifest/statement/image_statement.h"

namespace kiln::client {

struct PublishedImage {
  StatedImage said;
  Digest bundle;  // of the statement, as it lies in bundles/
};

// By a statement that counts under the trust root. kNotFound if there is none: an earlier release published
// the artifact, or its processor has no images.
Result<PublishedImage> publishedImageOf(const node::VerifiedArtifact& artifact);

}  // namespace kiln::client
