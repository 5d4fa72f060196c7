// model.safetensors.index.json: which shard holds which tensor. Format: Hugging Face.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "manifest/base/digest.h"
#include "manifest/base/result.h"

namespace kiln::parameters {

inline constexpr std::size_t kMaxShards = 10'000;

struct ShardIndex {
  std::vector<std::string> shards;             // names of files beside the index, sorted
  std::map<std::string, std::size_t> tensors;  // name -> which of them
};

// kInvalidArgument for anything but an object whose "weight_map" gives each tensor the plain name of a file.
Result<ShardIndex> readShardIndex(Bytes file);

}  // namespace kiln::parameters
