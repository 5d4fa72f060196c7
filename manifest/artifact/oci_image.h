// An artifact as a container image, which Kubernetes mounts as a volume and KServe takes as a model: the
// config and the image manifest. Source: OCI image-spec 1.1 (config.md, manifest.md with `subject`,
// layer.md).
#pragma once

#include <string>
#include <vector>

#include "manifest/artifact/oci_layout.h"
#include "manifest/base/digest.h"
#include "manifest/base/result.h"
#include "manifest/spec/target.h"

namespace kiln {

inline constexpr char kOciImageConfigMediaType[] = "application/vnd.oci.image.config.v1+json";
inline constexpr char kOciTarMediaType[] = "application/vnd.oci.image.layer.v1.tar";

// Where an artifact's files lie in its image; KServe looks for a model there.
inline constexpr char kImageFolder[] = "models";

// All that decides an image's bytes.
struct ArtifactImage {
  Digest artifact;              // the subject: an artifact's OCI manifest
  std::string target;           // of the artifact's CompileSpec
  std::vector<Digest> layers;   // its own files; what is said about them
  std::vector<Digest> bundles;  // Sigstore bundles in the second layer; empty where nobody says
  bool operator==(const ArtifactImage&) const = default;
};
struct ImageDocuments {
  std::string config, manifest;  // canonical JSON
};
// kUnimplemented for a target whose processor has no images; errors as parseTarget().
Result<ImageDocuments> makeImage(const ArtifactImage& image);

// Canonical JSON. `layers` are uncompressed tar archives, so that their digests are the config's diff_ids as
// well. The image is for Linux on the processor of `host`, in the words of Go's GOARCH. It has no time and no
// history.
Result<std::string> makeImageConfig(const Target& host, const std::vector<Digest>& layers);

// Canonical JSON: `subject` is the artifact that the image was made from.
Result<std::string> makeImageManifest(const Digest& config, const std::vector<Digest>& layers,
                                      const Digest& subject);

// index.json of a layout that holds the image, under the reference name "image", and what refers to it.
Result<std::string> makeImageIndex(const Digest& manifest, const std::vector<LayoutEntry>& referrers = {});

}  // namespace kiln
