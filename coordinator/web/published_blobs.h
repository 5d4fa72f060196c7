// The blobs that the HTTP gateway serves: those of published artifacts, by the index.
#pragma once

#include "api/gateway/gateway.h"
#include "storage/postgres/pool.h"

namespace kiln::server {

// Thread safe. `database` must outlive it.
class PublishedBlobs final : public gateway::ArtifactLookup {
 public:
  explicit PublishedBlobs(postgres::Pool& database) : database_(database) {}
  Result<Digest> findManifest(const std::string& instance, const Digest& hash) override;
  Result<Digest> findBlob(const std::string& instance, const Digest& hash) override;
  Result<std::vector<Digest>> findArtifactsOf(const std::string& instance, const Digest& blob) override;
  Result<gateway::PublishedArtifact> findReferrers(const std::string& instance,
                                                   const Digest& artifact) override;
  Result<gateway::PublishedArtifact> findReferrer(const std::string& instance, const Digest& hash) override;

 private:
  postgres::Pool& database_;
};

}  // namespace kiln::server
