// The container image of an artifact that is being published: its digest, and a signed statement of it. The
// image itself is never made: whoever pulls it gets its layers as they are put together (storage/oci).
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "coordinator/recall/judging.h"
#include "storage/index/artifacts/image_repository.h"
#include "storage/index/rows/records.h"

namespace kiln::service {

struct SignedImage {
  index::ImageRecord image;
  index::BundleRecord bundle;  // of the statement that names image and artifact; in the store
};

struct ImageRequest {
  const index::ArtifactRecord& artifact;
  std::string_view ociManifest;  // the artifact's
  std::vector<Digest> bundles;   // that go into it; in the store
  std::string job;
  TimePoint recorded;
  std::string trace;  // of the span that asks
};

// Nothing if the artifact has an image, or its processor has none. Reads the whole artifact once. Made again
// from the same artifact and bundles it is the same image with the same statement. Errors of the store, the
// signer and the database.
Result<std::optional<SignedImage>> signImage(const Judging& judging, const ImageRequest& request);

}  // namespace kiln::service
