// Container images of published artifacts. They are not stored: what they are made of is
// (manifest/artifact/oci_image.h).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "manifest/artifact/oci_image.h"
#include "storage/postgres/connection.h"

namespace kiln::index {

struct ImageRecord {
  ArtifactImage image;
  Digest digest;     // of its OCI manifest, by its hash alone
  Digest config;     // likewise
  Digest statement;  // the payload that names image and artifact, by its hash alone
  Digest bundle;     // of that statement
  Digest referrer;   // the OCI manifest by which that bundle refers to the image, by its hash alone
};

// Of a published artifact, with its statement in the index already. The same image again changes nothing.
Status insertImage(postgres::Connection& connection, const std::string& instance, const ImageRecord& image,
                   TimePoint made);

// Whether there is one.
Result<bool> hasImage(postgres::Connection& connection, const std::string& instance, const Digest& artifact);

// The images of an artifact, the first made first; 16 at most.
Result<std::vector<ImageRecord>> listImages(postgres::Connection& connection, const std::string& instance,
                                            const Digest& artifact);
// One that has this hash as its manifest, its config, one of its layers, or the referrer to it.
Result<std::optional<ImageRecord>> findImage(postgres::Connection& connection, const std::string& instance,
                                             const Digest& hash);

}  // namespace kiln::index
