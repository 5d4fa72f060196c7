// From an artifact's hash to what a node fetches, by the farm's index.
#pragma once

#include "api/client/client.h"
#include "api/node/fetch.h"

namespace kiln::client {

// What the farm's index says of an artifact: its manifest is the one that was asked for, all else is only
// said. `digest` and errors are as in findArtifact().
Result<v1::Artifact> indexEntry(Client& client, const std::string& digest);

// What an entry says where the parts of the artifact are, without recalls. kDataLoss (exitCode 5) if it names
// no digests or fixtures that are no tree.
Result<node::ArtifactRef> partsOf(Client& client, const v1::Artifact& artifact);

// `digest` is "sha256:<64 hex>", or the first 12 digits or more of one: the farm then says which it means,
// and kInvalidArgument where it could mean several. kNotFound if the instance has none; kDataLoss (exitCode
// 5) if the index answers with another artifact or with fixtures that are no tree.
Result<node::ArtifactRef> findArtifact(Client& client, const std::string& digest);

}  // namespace kiln::client
