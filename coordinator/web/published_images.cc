#include "coordinator/web/published_images.h"

#include "storage/index/artifacts/image_repository.h"

namespace kiln::server {
namespace {

gateway::PublishedImage servedAs(index::ImageRecord record) {
  return {std::move(record.image), record.digest, record.bundle};
}

}  // namespace

Result<std::optional<gateway::PublishedImage>> PublishedImages::findImage(const std::string& instance,
                                                                          const Digest& hash) {
  KILN_ASSIGN(auto connection, database_.acquire());
  KILN_ASSIGN(auto found, index::findImage(*connection, instance, hash));
  if (!found) return std::optional<gateway::PublishedImage>();
  return std::optional(servedAs(std::move(*found)));
}

Result<std::vector<gateway::PublishedImage>> PublishedImages::findImagesOf(const std::string& instance,
                                                                           const Digest& artifact) {
  KILN_ASSIGN(auto connection, database_.acquire());
  KILN_ASSIGN(auto found, index::listImages(*connection, instance, artifact));
  std::vector<gateway::PublishedImage> out;
  for (index::ImageRecord& record : found) out.push_back(servedAs(std::move(record)));
  return out;
}

}  // namespace kiln::server
