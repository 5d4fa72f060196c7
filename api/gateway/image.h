// Container images of published artifacts, as the gateway asks for them.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "manifest/artifact/oci_image.h"
#include "manifest/base/digest.h"
#include "manifest/base/result.h"

namespace kiln::gateway {

struct PublishedImage {
  ArtifactImage image;
  Digest digest;  // of its OCI manifest, by its hash alone
  Digest bundle;  // of the statement that names image and artifact
  bool operator==(const PublishedImage&) const = default;
};

// Thread safe; called on the gateway's handler threads. Nobody needs to believe it: the gateway makes an
// image's documents from what it says and serves them under their own digests alone.
class ImageLookup {
 public:
  virtual ~ImageLookup() = default;
  // One that has this hash as its manifest, its config, one of its layers, or as the OCI manifest by which
  // the bundle refers to it. Nothing if the instance has none.
  virtual Result<std::optional<PublishedImage>> findImage(const std::string& instance,
                                                          const Digest& hash) = 0;
  // Those of a published artifact, the first made first.
  virtual Result<std::vector<PublishedImage>> findImagesOf(const std::string& instance,
                                                           const Digest& artifact) = 0;
};

}  // namespace kiln::gateway
