// The image predicate: which container image a farm made of an artifact. It names no author and no time: who
// says so is in the signature. Described in manifest/FORMAT.md.
#pragma once

#include <optional>
#include <string>

#include "manifest/artifact/oci_image.h"
#include "manifest/statement/statement.h"

namespace kiln {

inline constexpr char kImageType[] = "urn:kiln:predicate:image:v1";
inline constexpr std::size_t kMaxImageBundles = 64;  // in the image

// The statement about two things, the artifact and then the image, in canonical JSON: what the signer signs.
// Errors as makeImage().
Result<std::string> imageStatement(const ArtifactImage& image);

struct StatedImage {
  ArtifactImage image;
  Digest digest;  // of its OCI manifest
};
// What a statement of type kImageType says of an artifact for this target. kInvalidArgument naming a member;
// kDataLoss unless it is about this artifact and the image that the stated layers make, and nothing else.
Result<StatedImage> readImageStatement(const Statement& statement, const Digest& artifact,
                                       const std::string& target);

// The one artifact that a statement is about, whatever its type, by its hash alone: its only subject, or the
// first of the two of an image statement. Nothing if there are others.
std::optional<Digest> artifactOf(const Statement& statement);

}  // namespace kiln
