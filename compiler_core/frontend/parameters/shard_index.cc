#include "compiler_core/frontend/parameters/shard_index.h"

#include <algorithm>
#include <set>

#include "compiler_core/frontend/parameters/parameter_file.h"
#include "compiler_core/frontend/parameters/tensor_checks.h"
#include "manifest/json/json.h"
#include "manifest/spec/path.h"

namespace kiln::parameters {
namespace {

constexpr std::size_t kMaxIndex = std::size_t{32} << 20;

tl::unexpected<Error> malformed(const std::string& what) {
  return fail(Code::kInvalidArgument, "not an index of safetensors files: " + what);
}

bool isPlainName(const Json& json) {
  return json.is_string() && checkRelativePath(json.get_ref<const std::string&>()) &&
         json.get_ref<const std::string&>().find('/') == std::string::npos;
}

}  // namespace

Result<ShardIndex> readShardIndex(Bytes file) {
  auto json =
      parseJson({reinterpret_cast<const char*>(file.data()), file.size()}, {.bytes = kMaxIndex, .depth = 16});
  if (!json) return malformed(json.error().message);
  if (!json->is_object() || !json->contains("weight_map") || !(*json)["weight_map"].is_object())
    return malformed("it has no object \"weight_map\"");
  const Json& map = (*json)["weight_map"];
  if (map.size() > kMaxTensors) return malformed("more than 1000000 tensors");
  std::set<std::string> shards;
  for (const auto& [name, shard] : map.items()) {
    if (!isPlainName(shard))
      return malformed(tensorPlace(name) + " has no plain name of a file beside the index");
    shards.insert(shard.get<std::string>());
    if (shards.size() > kMaxShards) return malformed("more than 10000 files");
  }
  ShardIndex out{{shards.begin(), shards.end()}, {}};
  for (const auto& [name, shard] : map.items()) {
    const auto at = std::ranges::lower_bound(out.shards, shard.get<std::string>());
    out.tensors.emplace(name, static_cast<std::size_t>(at - out.shards.begin()));
  }
  return out;
}

}  // namespace kiln::parameters
