#include "api/mirror/images.h"

#include <algorithm>

#include "manifest/artifact/bundle_limit.h"
#include "manifest/statement/image_statement.h"
#include "signing/bundle/bundle.h"

namespace kiln::mirror {
namespace {

// Bundles that were malformed would have failed the artifact; what they say need not count.
std::optional<StatedImage> statedIn(const std::string& bundle, const signing::Verdict& verdict) {
  const auto parsed = signing::parseBundle(bundle);
  if (!parsed) return std::nullopt;
  const auto statement = parseStatement(parsed->envelope.payload);
  if (!statement || statement->predicateType != kImageType) return std::nullopt;
  auto said = readImageStatement(*statement, verdict.artifact, verdict.manifest.spec.target);
  if (!said) return std::nullopt;
  const bool counts = std::ranges::any_of(
      verdict.attestations, [&](const signing::Attestation& one) { return one.image == said->digest; });
  return counts ? std::optional(std::move(*said)) : std::nullopt;
}

}  // namespace

Result<std::vector<gateway::PublishedImage>> imagesOf(storage::BlobStore& here, const node::ArtifactRef& ref,
                                                      const signing::Verdict& verdict) {
  std::vector<gateway::PublishedImage> out;
  const auto isOffered = [&](const Digest& bundle) {
    return std::ranges::find(ref.bundles, bundle) != ref.bundles.end();
  };
  for (const Digest& bundle : ref.bundles) {
    KILN_ASSIGN(const std::string text, storage::getBlob(here, ref.instance, bundle, kMaxBundleBytes));
    auto said = statedIn(text, verdict);
    if (!said || !std::ranges::all_of(said->image.bundles, isOffered)) continue;
    said->image.artifact = ref.artifact;
    out.push_back({std::move(said->image), said->digest, bundle});
  }
  return out;
}

}  // namespace kiln::mirror
