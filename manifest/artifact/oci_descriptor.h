// Descriptors and layers as OCI manifests hold them. Source: OCI image specification 1.1, descriptor.md.
#pragma once

#include <string>

#include "manifest/artifact/manifest.h"
#include "manifest/json/reader.h"

namespace kiln {

inline constexpr std::size_t kMaxOciLayers = 16384;

// The annotation of a layout's index under which an entry is found by name.
inline constexpr char kRefName[] = "org.opencontainers.image.ref.name";

Json descriptorJson(const std::string& mediaType, const Digest& digest);
// Takes digest and size from `reader`. Sizes are integers here; a decimal string is not one.
Result<Digest> readDescriptor(ObjectReader& reader);

// A layer is a file: its path is the title.
Json layerJson(const std::string& mediaType, const ArtifactFile& file);
// kInvalidArgument naming the member: unknown members, an unsafe path, or, unless `mediaType` is empty,
// another one.
Result<ArtifactFile> readLayer(const Json& json, const std::string& place, const std::string& mediaType);

}  // namespace kiln
