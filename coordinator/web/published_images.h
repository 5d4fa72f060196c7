// The container images that the HTTP gateway serves beside published artifacts, by the index.
#pragma once

#include "api/gateway/image.h"
#include "storage/postgres/pool.h"

namespace kiln::server {

// Thread safe. `database` must outlive it.
class PublishedImages final : public gateway::ImageLookup {
 public:
  explicit PublishedImages(postgres::Pool& database) : database_(database) {}
  Result<std::optional<gateway::PublishedImage>> findImage(const std::string& instance,
                                                           const Digest& hash) override;
  Result<std::vector<gateway::PublishedImage>> findImagesOf(const std::string& instance,
                                                            const Digest& artifact) override;

 private:
  postgres::Pool& database_;
};

}  // namespace kiln::server
