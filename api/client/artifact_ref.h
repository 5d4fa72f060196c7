// From an artifact's hash to what a node fetches, by the farm's index.
#pragma once

#include "api/client/client.h"
#include "api/node/fetch.h"

namespace kiln::client {

// `digest` is "sha256:<64 hex>". kNotFound if the instance has none; kDataLoss (exitCode 5) if the index
// answers with another artifact or with fixtures that are no tree.
Result<node::ArtifactRef> findArtifact(Client& client, const std::string& digest);

}  // namespace kiln::client
