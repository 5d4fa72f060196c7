#include "coordinator/server/published_blobs.h"

#include "storage/index/artifact_repository.h"

namespace kiln::server {

Result<Digest> PublishedBlobs::findManifest(const std::string& instance, const Digest& hash) {
  KILN_ASSIGN(auto connection, database_.acquire());
  KILN_ASSIGN(auto artifact, index::loadArtifact(*connection, instance, hash));
  if (!artifact) return fail(Code::kNotFound, "no such artifact is published");
  return artifact->digest;
}

Result<Digest> PublishedBlobs::findBlob(const std::string& instance, const Digest& hash) {
  KILN_ASSIGN(auto connection, database_.acquire());
  KILN_ASSIGN(auto blob, index::findPublishedBlob(*connection, instance, hash));
  if (!blob) return fail(Code::kNotFound, "no published artifact names this blob");
  return *blob;
}

}  // namespace kiln::server
