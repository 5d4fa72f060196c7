// Media types of an artifact in an OCI registry. Frozen: old artifacts are read for ever.
#pragma once

#include <string_view>

namespace kiln {

inline constexpr char kArtifactType[] = "application/vnd.kiln.artifact.v1+json";
inline constexpr char kManifestMediaType[] = "application/vnd.kiln.manifest.v1+json";
inline constexpr char kProgramMediaType[] = "application/vnd.kiln.program.v1+elf";
inline constexpr char kCubinMediaType[] = "application/vnd.kiln.kernels.v1+cubin";
inline constexpr char kSpirvMediaType[] = "application/vnd.kiln.kernels.v1+spirv";
inline constexpr char kWeightsMediaType[] = "application/vnd.kiln.weights.v1";
inline constexpr char kOciManifestMediaType[] = "application/vnd.oci.image.manifest.v1+json";

// Whether a file of this type holds a device's kernels.
inline constexpr bool isKernelsMediaType(std::string_view type) {
  return type == kCubinMediaType || type == kSpirvMediaType;
}

}  // namespace kiln
