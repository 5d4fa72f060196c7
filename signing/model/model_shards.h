// Files of a model that were signed in shards of one size, each under a name of its own, "FILE:BEGIN:END".
// Source: the Python package model-signing 1.1, manifest.py and _serialization/file_shard.py.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "signing/model/model_manifest.h"

namespace kiln::signing {

// The name of the bytes [begin, end) of a file.
std::string shardName(const std::string& file, std::uint64_t begin, std::uint64_t end);

// "sha256-sharded-SIZE": what a statement calls the algorithm of a shard.
std::string shardAlgorithm(std::uint64_t shardBytes);

// The files that these shards make up, in whatever order they come; sorted by name. kInvalidArgument names
// the shard unless those of each file have `shardBytes` from its first byte on, the last at most as many.
Result<std::vector<ModelResource>> filesOfShards(const std::vector<ModelResource>& shards,
                                                 std::uint64_t shardBytes);

}  // namespace kiln::signing
