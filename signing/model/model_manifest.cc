#include "signing/model/model_manifest.h"

#include <algorithm>
#include <cmath>

#include "manifest/base/printable.h"
#include "manifest/base/utf8.h"
#include "manifest/json/reader.h"
#include "manifest/statement/statement.h"
#include "signing/model/model_shards.h"

namespace kiln::signing {
namespace {

constexpr std::size_t kMaxStatementBytes = 9u << 20;  // what an envelope of 12 MiB holds
constexpr std::size_t kMaxNameBytes = 4096;
constexpr std::size_t kMaxIgnored = 4096;
constexpr double kMaxShardBytes = 9007199254740992;  // 2^53: whole numbers that JSON holds
constexpr char kHash[] = "sha256", kFiles[] = "files", kShards[] = "shards";

// A value of JSON takes many times the bytes of its text in memory.
Status checkValues(std::string_view text) {
  constexpr std::ptrdiff_t kMaxValues = 8 * static_cast<std::ptrdiff_t>(kMaxModelFiles);
  const auto separates = [](char c) { return c == '[' || c == '{' || c == ','; };
  if (std::ranges::count_if(text, separates) <= kMaxValues) return {};
  return fail(Code::kInvalidArgument, "statement: holds more than " + std::to_string(kMaxValues) + " values");
}

// The digest over the raw digests of all files or shards, in their order.
Digest rootOf(const std::vector<ModelResource>& resources) {
  Hasher hasher;
  for (const ModelResource& resource : resources) hasher.update(resource.digest.hash);
  return hasher.finish();
}

Result<Digest> readDigest(ObjectReader& reader, std::string_view member) {
  KILN_ASSIGN(const std::string hex, reader.string(member));
  auto digest = hex.starts_with("sha256:") ? fail(Code::kInvalidArgument, "must be bare hex digits")
                                           : Digest::parse(hex, 0);
  if (!digest) return badMember(reader.path(member), digest.error().message);
  return *digest;
}

Status checkHash(const std::string& place, const std::string& hash, const std::string& served) {
  if (hash == served) return {};
  return fail(Code::kUnimplemented,
              place + ": " + inQuotes(hash) + " is not served; have it signed with " + served);
}

// The Python package writes 1000000000.0.
Result<std::uint64_t> readShardSize(ObjectReader& reader) {
  KILN_ASSIGN(const Json* value, reader.any("shard_size"));
  const double bytes = value->is_number() ? value->get<double>() : 0;
  if (bytes >= 1 && bytes <= kMaxShardBytes && std::floor(bytes) == bytes)
    return static_cast<std::uint64_t>(bytes);
  return badMember(reader.path("shard_size"), "must be a whole number of bytes, from 1 to 2^53");
}

Status readSerialization(ObjectReader& reader, ModelManifest& out) {
  KILN_ASSIGN(const std::string method, reader.string("method"));
  if (method == kShards) {
    KILN_ASSIGN(out.shardBytes, readShardSize(reader));
  } else if (method != kFiles) {
    return fail(Code::kUnimplemented, reader.path("method") + ": " + inQuotes(method) +
                                          " is not served; have it signed by whole files");
  }
  KILN_ASSIGN(const std::string hash, reader.string("hash_type"));
  KILN_TRY(checkHash(reader.path("hash_type"), hash, kHash));
  KILN_ASSIGN(out.allowSymlinks, reader.boolean("allow_symlinks"));
  if (!reader.has("ignore_paths")) return {};
  KILN_ASSIGN(out.ignorePaths, reader.strings("ignore_paths"));
  if (out.ignorePaths.size() > kMaxIgnored)
    return badMember(reader.path("ignore_paths"), "holds more than " + std::to_string(kMaxIgnored));
  return {};
}

// In the statement's order, as it names them.
Result<std::vector<ModelResource>> readResources(const Json& list, const std::string& place,
                                                 const std::string& algorithm) {
  if (list.empty() || list.size() > kMaxModelFiles)
    return badMember(place, "must hold 1 to " + std::to_string(kMaxModelFiles) + " files or shards");
  std::vector<ModelResource> out;
  for (const Json& element : list) {
    KILN_ASSIGN(ObjectReader reader,
                ObjectReader::open(element, place + "[" + std::to_string(out.size()) + "]"));
    ModelResource resource;
    KILN_ASSIGN(resource.name, reader.string("name"));
    KILN_ASSIGN(const std::string said, reader.string("algorithm"));
    KILN_TRY(checkHash(reader.path("algorithm"), said, algorithm));
    KILN_ASSIGN(resource.digest, readDigest(reader, "digest"));
    out.push_back(std::move(resource));
  }
  return out;
}

Status checkNames(const std::vector<ModelResource>& resources, const std::string& place) {
  for (const ModelResource& one : resources) {
    const bool whole = one.name == kWholeModel && resources.size() == 1;
    if (!whole && !isResourceName(one.name))
      return badMember(place, inQuotes(one.name) + " is no relative path of a file");
  }
  const auto twice = std::ranges::adjacent_find(resources, {}, &ModelResource::name);
  return twice == resources.end() ? Status() : badMember(place, inQuotes(twice->name) + " is there twice");
}

// As a statement lists them.
std::vector<ModelResource> listed(const ModelManifest& manifest) {
  if (manifest.shardBytes == 0) return manifest.resources;
  std::vector<ModelResource> out;
  for (const ModelResource& file : manifest.resources) {
    std::uint64_t begin = 0;
    for (const Digest& shard : file.shards) {
      const std::uint64_t end = begin + std::min(manifest.shardBytes, file.digest.size - begin);
      out.push_back({shardName(file.name, begin, end), shard});
      begin = end;
    }
  }
  return out;
}

}  // namespace

bool isResourceName(std::string_view name) {
  if (name.empty() || name.size() > kMaxNameBytes || !isUtf8(name) || name.find('\0') != name.npos)
    return false;
  for (std::size_t begin = 0; begin <= name.size();) {
    const std::size_t end = std::min(name.find('/', begin), name.size());
    const std::string_view part = name.substr(begin, end - begin);
    if (part.empty() || part == "." || part == "..") return false;
    begin = end + 1;
  }
  return true;
}

Result<std::string> ModelManifest::statement() const {
  const std::vector<ModelResource> each = listed(*this);
  const std::string algorithm = shardBytes > 0 ? shardAlgorithm(shardBytes) : kHash;
  Json list = Json::array();
  for (const ModelResource& resource : each)
    list.push_back({{"name", resource.name}, {"algorithm", algorithm}, {"digest", resource.digest.hex()}});
  Json serialization{{"method", shardBytes > 0 ? kShards : kFiles},
                     {"hash_type", kHash},
                     {"allow_symlinks", allowSymlinks},
                     {"ignore_paths", ignorePaths}};
  if (shardBytes > 0) serialization["shard_size"] = shardBytes;
  const Statement out{{{name, rootOf(each).hash}},
                      kModelSignatureType,
                      {{"serialization", std::move(serialization)}, {"resources", std::move(list)}}};
  return toCanonicalJson(out.toJson());
}

Result<ModelManifest> ModelManifest::fromStatement(std::string_view payload) {
  KILN_TRY(checkValues(payload));
  KILN_ASSIGN(const Json json, parseJson(payload, {.bytes = kMaxStatementBytes, .depth = 16}));
  KILN_ASSIGN(ObjectReader reader, ObjectReader::open(json, "statement"));
  KILN_TRY(reader.expect("_type", kStatementType));
  KILN_TRY(reader.expect("predicateType", kModelSignatureType));
  KILN_ASSIGN(const Json* subjects, reader.array("subject"));
  if (subjects->size() != 1) return badMember("statement.subject", "must hold one subject, the model");
  KILN_ASSIGN(ObjectReader subject, ObjectReader::open((*subjects)[0], "statement.subject[0]"));
  ModelManifest out;
  KILN_ASSIGN(out.name, subject.string("name"));
  KILN_ASSIGN(ObjectReader digests, subject.object("digest"));
  KILN_ASSIGN(const Digest root, readDigest(digests, "sha256"));
  KILN_ASSIGN(ObjectReader predicate, reader.object("predicate"));
  KILN_ASSIGN(ObjectReader serialization, predicate.object("serialization"));
  KILN_TRY(readSerialization(serialization, out));
  KILN_ASSIGN(const Json* resources, predicate.array("resources"));
  const std::string place = predicate.path("resources");
  const std::string algorithm = out.shardBytes > 0 ? shardAlgorithm(out.shardBytes) : kHash;
  KILN_ASSIGN(out.resources, readResources(*resources, place, algorithm));
  // Over the digests in the order of the statement, which is its producer's: the reference implementation
  // puts model/w.bin before model.onnx, as it compares paths part by part.
  if (rootOf(out.resources).hash != root.hash)
    return badMember("statement.subject[0].digest", "is not the digest over those of the files");
  if (out.shardBytes > 0) {
    auto files = filesOfShards(out.resources, out.shardBytes);
    if (!files) return badMember(place, files.error().message);
    out.resources = std::move(*files);
  }
  std::ranges::sort(out.resources, {}, &ModelResource::name);
  KILN_TRY(checkNames(out.resources, place));
  return out;
}

}  // namespace kiln::signing
