// The documents of an export: an OCI image layout with one artifact, what refers to it (bundles, fixtures)
// and, where asked for, what it was made from (its closure). Source: OCI image-spec 1.1 (image-layout, index,
// manifest with `subject`). Described in manifest/FORMAT.md.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "manifest/artifact/manifest.h"
#include "manifest/base/digest.h"
#include "manifest/spec/compile_spec.h"

namespace kiln {

inline constexpr char kOciIndexMediaType[] = "application/vnd.oci.image.index.v1+json";
inline constexpr char kOciLayoutText[] = R"({"imageLayoutVersion":"1.0.0"})";
inline constexpr std::size_t kMaxLayoutIndexBytes = 4u << 20;

// What refers to an artifact, by artifactType.
inline constexpr char kBundleType[] = "application/vnd.dev.sigstore.bundle.v0.3+json";
inline constexpr char kRecallsType[] = "application/vnd.kiln.recalls.v1+json";
inline constexpr char kFixturesType[] = "application/vnd.kiln.fixtures.v1+json";
inline constexpr char kClosureType[] = "application/vnd.kiln.closure.v1+json";
inline constexpr char kBlobMediaType[] = "application/octet-stream";
// The config of a referrer that needs none: the two bytes "{}".
inline constexpr char kEmptyMediaType[] = "application/vnd.oci.empty.v1+json";
inline constexpr char kEmptyConfig[] = "{}";

// An image manifest with a subject. Layers carry their path as title, as an artifact's do.
struct Referrer {
  std::string artifactType;
  Digest subject;                    // an artifact's OCI manifest
  Digest config;                     // of kEmptyConfig, or of a document of type `artifactType`
  std::vector<ArtifactFile> layers;  // media types are kBlobMediaType, of a bundle kBundleType
};

// Canonical JSON; kResourceExhausted if it is 4 MiB or more.
Result<std::string> makeReferrer(const Referrer& referrer);
// From outside: kInvalidArgument naming the member.
Result<Referrer> parseReferrer(std::string_view text);

struct LayoutEntry {
  Digest manifest;
  std::string artifactType;
};

// index.json of a layout: the artifact under the reference name "artifact", its referrers, and `tag`, an
// image index of the referrers under the name that registries without a referrers API look for,
// "sha256-<hex>".
Result<std::string> makeLayoutIndex(const Digest& artifact, const std::vector<LayoutEntry>& referrers,
                                    const Digest& tag);
// The image index that `tag` is the digest of.
Result<std::string> makeReferrersIndex(const std::vector<LayoutEntry>& referrers);
// The image manifests that an index.json lists, whoever wrote it: at most 1024, each once. What they are,
// they say themselves. kInvalidArgument naming the member.
Result<std::vector<Digest>> parseLayoutIndex(std::string_view text);
// What an image manifest says it is; kInvalidArgument if it is none.
Result<std::string> artifactTypeOf(std::string_view manifest);

// The config of a closure: files of the toolchain that were left out, by what they must be.
struct ClosureConfig {
  std::vector<ModelFile> omitted;  // paths in the toolchain tree, sorted
};
Result<std::string> makeClosureConfig(const ClosureConfig& config);
Result<ClosureConfig> parseClosureConfig(std::string_view text);

}  // namespace kiln
