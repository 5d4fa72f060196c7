#include "coordinator/audit/comparison.h"

#include <algorithm>

#include "signing/bundle/bundle.h"
#include "storage/index/toolchains/toolchain_repository.h"

namespace kiln::service {
namespace {

constexpr std::uint64_t kMaxBundleBytes = 12u << 20;

Result<Provenance> newestProvenance(storage::BlobStore& blobs, const index::ArtifactRecord& artifact,
                                    index::BundleRecord& record) {
  const auto found = std::find_if(artifact.bundles.rbegin(), artifact.bundles.rend(),
                                  [](const auto& bundle) { return bundle.predicateType == kProvenanceType; });
  if (found == artifact.bundles.rend())
    return fail(Code::kFailedPrecondition, "no provenance of " + artifact.digest.text() + " is in the index");
  record = *found;
  KILN_ASSIGN(const std::string text,
              storage::getBlob(blobs, artifact.instance, record.bundle, kMaxBundleBytes));
  KILN_ASSIGN(const signing::Bundle bundle, signing::parseBundle(text));
  KILN_ASSIGN(const Statement statement, parseStatement(bundle.envelope.payload));
  return Provenance::fromJson(statement.predicate);
}

}  // namespace

Result<Comparison> compareArtifacts(storage::BlobStore& blobs, postgres::Connection& connection,
                                    const index::ArtifactRecord& first, const index::ArtifactRecord& second) {
  Comparison out;
  KILN_ASSIGN(const Provenance a, newestProvenance(blobs, first, out.first));
  KILN_ASSIGN(const Provenance b, newestProvenance(blobs, second, out.second));
  KILN_ASSIGN(const auto one, index::findToolchain(connection, first.instance, first.toolchainDigest.text()));
  KILN_ASSIGN(const auto two,
              index::findToolchain(connection, second.instance, second.toolchainDigest.text()));
  const auto before = readToolchainDescription(one.description),
             after = readToolchainDescription(two.description);
  const bool known = before && after;
  out.differences = compareProvenance(a, b, known ? &*before : nullptr, known ? &*after : nullptr);
  return out;
}

}  // namespace kiln::service
