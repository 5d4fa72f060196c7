#include "signing/model/model_shards.h"

#include <algorithm>

#include "manifest/base/printable.h"
#include "manifest/json/reader.h"

namespace kiln::signing {
namespace {

struct Shard {
  std::string file;
  std::uint64_t begin = 0, end = 0;
  Digest digest;
};

tl::unexpected<Error> bad(const std::string& name, const char* why) {
  return fail(Code::kInvalidArgument, inQuotes(name) + " " + why);
}

Result<Shard> readShard(const ModelResource& resource) {
  const std::string& name = resource.name;
  const std::size_t second = name.rfind(':');
  const std::size_t first = second == 0 || second == name.npos ? name.npos : name.rfind(':', second - 1);
  const auto wrong = [&] { return bad(name, "is no shard of a file, FILE:BEGIN:END"); };
  if (first == name.npos) return wrong();
  const auto begin = parseDecimal(std::string_view(name).substr(first + 1, second - first - 1));
  const auto end = parseDecimal(std::string_view(name).substr(second + 1));
  if (!begin || !end) return wrong();
  Shard out{name.substr(0, first), *begin, *end, resource.digest};
  // Nobody can tell such a name from a shard's.
  if (out.file.find(':') != out.file.npos)
    return bad(name, "has a file's name with a colon, which no shard has");
  return out;
}

}  // namespace

std::string shardName(const std::string& file, std::uint64_t begin, std::uint64_t end) {
  return file + ":" + std::to_string(begin) + ":" + std::to_string(end);
}

std::string shardAlgorithm(std::uint64_t shardBytes) {
  return "sha256-sharded-" + std::to_string(shardBytes);
}

Result<std::vector<ModelResource>> filesOfShards(const std::vector<ModelResource>& shards,
                                                 std::uint64_t shardBytes) {
  std::vector<Shard> read;
  for (const ModelResource& one : shards) {
    KILN_ASSIGN(Shard shard, readShard(one));
    read.push_back(std::move(shard));
  }
  std::ranges::sort(read, [](const Shard& a, const Shard& b) {
    return a.file != b.file ? a.file < b.file : a.begin < b.begin;
  });
  std::vector<ModelResource> out;
  for (std::size_t i = 0; i < read.size(); ++i) {
    const Shard& shard = read[i];
    const bool isFirst = out.empty() || out.back().name != shard.file;
    if (isFirst) out.push_back({shard.file, {}});
    ModelResource& file = out.back();
    const std::string name = shardName(shard.file, shard.begin, shard.end);
    if (shard.begin != file.digest.size) return bad(name, "does not begin where the shard before it ends");
    const bool isLast = i + 1 == read.size() || read[i + 1].file != shard.file;
    if (shard.end <= shard.begin || shard.end - shard.begin > shardBytes ||
        (!isLast && shard.end - shard.begin < shardBytes))
      return bad(name, "is not of the size that all shards but a file's last have");
    file.shards.push_back({shard.digest.hash, 0});
    file.digest.size = shard.end;
  }
  for (ModelResource& file : out)
    if (file.shards.size() == 1) file.digest.hash = file.shards[0].hash;
  return out;
}

}  // namespace kiln::signing
