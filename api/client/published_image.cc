#include "api/client/published_image.h"

#include <algorithm>

#include "api/client/artifact_paths.h"
#include "manifest/artifact/bundle_limit.h"
#include "manifest/base/file.h"
#include "signing/bundle/bundle.h"

namespace kiln::client {

Result<PublishedImage> publishedImageOf(const node::VerifiedArtifact& artifact) {
  const auto& attestations = artifact.verdict.attestations;
  const auto counts = [&](const Digest& image) {
    return std::ranges::any_of(attestations,
                               [&](const signing::Attestation& one) { return one.image == image; });
  };
  KILN_ASSIGN(const ArtifactPaths paths, pathsOf(artifact));
  for (const std::string& path : paths.evidence) {
    if (!path.starts_with("bundles/")) continue;
    KILN_ASSIGN(const std::string text, readRegular(artifact.directory + "/" + path, kMaxBundleBytes));
    KILN_ASSIGN(const signing::Bundle bundle, signing::parseBundle(text));
    KILN_ASSIGN(const Statement statement, parseStatement(bundle.envelope.payload));
    if (statement.predicateType != kImageType) continue;
    auto said = readImageStatement(statement, artifact.verdict.artifact, artifact.manifest().spec.target);
    if (said && counts(said->digest)) return PublishedImage{std::move(*said), digestOf(text)};
  }
  return fail(Code::kNotFound, "no statement that counts names an image of " +
                                   artifact.verdict.artifact.text() +
                                   ": an earlier release published it, or its processor has no images");
}

}  // namespace kiln::client
