// The OCI image manifest of an artifact. Its SHA-256 is the artifact digest: the hash by which the artifact
// is fetched and the subject of every statement. Source: OCI image-spec 1.1 (manifest, descriptor,
// artifactType).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "manifest/artifact/manifest.h"
#include "manifest/base/digest.h"

namespace kiln {

// OCI clients refuse larger manifests and configs.
inline constexpr std::size_t kMaxOciManifestBytes = 4u << 20;

struct OciManifest {
  Digest digest;                     // of the manifest's own bytes: the artifact digest
  Digest config;                     // the Manifest in canonical JSON
  std::vector<ArtifactFile> layers;  // Manifest::files()
};

// Canonical JSON. `manifestBlob` is the digest of `manifest` in canonical JSON. kResourceExhausted if the
// result or the config is 4 MiB or more.
Result<std::string> makeOciManifest(const Manifest& manifest, const Digest& manifestBlob);

// Reads a manifest from outside. kInvalidArgument naming the member for anything that makeOciManifest would
// not write: another artifactType or media type, a layer without a safe and unique title, unknown members, 4
// MiB or more.
Result<OciManifest> parseOciManifest(std::string_view text);

// kDataLoss unless the layers are exactly the files that `manifest` lists, in its order.
Status checkLayers(const OciManifest& oci, const Manifest& manifest);

}  // namespace kiln
