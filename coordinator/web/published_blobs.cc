#include "coordinator/web/published_blobs.h"

#include "manifest/statement/ir_statement.h"
#include "storage/index/artifacts/artifact_repository.h"
#include "storage/index/artifacts/ir_repository.h"
#include "storage/index/artifacts/referrer_repository.h"

namespace kiln::server {

Result<Digest> PublishedBlobs::findManifest(const std::string& instance, const Digest& hash) {
  KILN_ASSIGN(auto connection, database_.acquire());
  KILN_ASSIGN(auto artifact, index::findArtifact(*connection, instance, hash));
  if (!artifact) return fail(Code::kNotFound, "no such artifact is published");
  return artifact->digest;
}

Result<Digest> PublishedBlobs::findBlob(const std::string& instance, const Digest& hash) {
  KILN_ASSIGN(auto connection, database_.acquire());
  KILN_ASSIGN(auto blob, index::findPublishedBlob(*connection, instance, hash));
  if (!blob) return fail(Code::kNotFound, "no published artifact names this blob");
  return *blob;
}

Result<std::vector<Digest>> PublishedBlobs::findArtifactsOf(const std::string& instance, const Digest& blob) {
  KILN_ASSIGN(auto connection, database_.acquire());
  return index::findArtifactsOf(*connection, instance, blob);
}

Result<gateway::PublishedArtifact> PublishedBlobs::findReferrers(const std::string& instance,
                                                                 const Digest& artifact) {
  KILN_ASSIGN(auto connection, database_.acquire());
  KILN_ASSIGN(auto found, index::loadReferrers(*connection, instance, artifact));
  if (!found) return fail(Code::kNotFound, "no such artifact is published");
  gateway::PublishedArtifact out{found->artifact, std::move(found->bundles)};
  KILN_ASSIGN(const auto ir, index::irOf(*connection, instance, artifact));
  if (ir) out.others.push_back(irReferrer(out.artifact, ir->files));
  return out;
}

Result<gateway::PublishedArtifact> PublishedBlobs::findReferrer(const std::string& instance,
                                                                const Digest& hash) {
  KILN_ASSIGN(auto connection, database_.acquire());
  KILN_ASSIGN(auto found, index::findReferrer(*connection, instance, hash));
  KILN_ASSIGN(const auto ir, found ? std::nullopt : index::findIr(*connection, instance, hash));
  if (ir) return gateway::PublishedArtifact{ir->artifact, {}, {irReferrer(ir->artifact, ir->files)}};
  if (!found) return fail(Code::kNotFound, "no artifact or bundle is published under this digest");
  return gateway::PublishedArtifact{found->artifact, std::move(found->bundles)};
}

}  // namespace kiln::server
