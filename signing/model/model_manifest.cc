#include "signing/model/model_manifest.h"

#include <algorithm>

#include "manifest/base/printable.h"
#include "manifest/base/utf8.h"
#include "manifest/json/reader.h"
#include "manifest/statement/statement.h"

namespace kiln::signing {
namespace {

constexpr std::size_t kMaxStatementBytes = 9u << 20;  // what an envelope of 12 MiB holds
constexpr std::size_t kMaxNameBytes = 4096;
constexpr std::size_t kMaxIgnored = 4096;
constexpr char kHash[] = "sha256";

// A value of JSON takes many times the bytes of its text in memory.
Status checkValues(std::string_view text) {
  constexpr std::ptrdiff_t kMaxValues = 8 * static_cast<std::ptrdiff_t>(kMaxModelFiles);
  const auto separates = [](char c) { return c == '[' || c == '{' || c == ','; };
  if (std::ranges::count_if(text, separates) <= kMaxValues) return {};
  return fail(Code::kInvalidArgument, "statement: holds more than " + std::to_string(kMaxValues) + " values");
}

// The digest over the raw digests of all files, in their order.
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

Status checkHash(const std::string& place, const std::string& hash) {
  if (hash == kHash) return {};
  return fail(Code::kUnimplemented,
              place + ": " + inQuotes(hash) + " is not served; have it signed with " + kHash);
}

Status readSerialization(ObjectReader& reader, ModelManifest& out) {
  KILN_ASSIGN(const std::string method, reader.string("method"));
  if (method != "files")
    return fail(Code::kUnimplemented, reader.path("method") + ": " + inQuotes(method) +
                                          " is not served; have it signed by whole files");
  KILN_ASSIGN(const std::string hash, reader.string("hash_type"));
  KILN_TRY(checkHash(reader.path("hash_type"), hash));
  KILN_ASSIGN(out.allowSymlinks, reader.boolean("allow_symlinks"));
  if (!reader.has("ignore_paths")) return {};
  KILN_ASSIGN(out.ignorePaths, reader.strings("ignore_paths"));
  if (out.ignorePaths.size() > kMaxIgnored)
    return badMember(reader.path("ignore_paths"), "holds more than " + std::to_string(kMaxIgnored));
  return {};
}

Status readResources(const Json& list, const std::string& place, ModelManifest& out) {
  if (list.empty() || list.size() > kMaxModelFiles)
    return badMember(place, "must hold 1 to " + std::to_string(kMaxModelFiles) + " files");
  for (const Json& element : list) {
    KILN_ASSIGN(ObjectReader reader,
                ObjectReader::open(element, place + "[" + std::to_string(out.resources.size()) + "]"));
    ModelResource resource;
    KILN_ASSIGN(resource.name, reader.string("name"));
    const bool whole = resource.name == kWholeModel && list.size() == 1;
    if (!whole && !isResourceName(resource.name))
      return badMember(reader.path("name"), inQuotes(resource.name) + " is no relative path of a file");
    KILN_ASSIGN(const std::string algorithm, reader.string("algorithm"));
    KILN_TRY(checkHash(reader.path("algorithm"), algorithm));
    KILN_ASSIGN(resource.digest, readDigest(reader, "digest"));
    out.resources.push_back(std::move(resource));
  }
  return {};
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
  Json list = Json::array();
  for (const ModelResource& resource : resources)
    list.push_back({{"name", resource.name}, {"algorithm", kHash}, {"digest", resource.digest.hex()}});
  const Json serialization{{"method", "files"},
                           {"hash_type", kHash},
                           {"allow_symlinks", allowSymlinks},
                           {"ignore_paths", ignorePaths}};
  const Statement out{{{name, rootOf(resources).hash}},
                      kModelSignatureType,
                      {{"serialization", serialization}, {"resources", std::move(list)}}};
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
  KILN_TRY(readResources(*resources, predicate.path("resources"), out));
  // Over the digests in the order of the statement, which is its producer's: the reference implementation
  // puts model/w.bin before model.onnx, as it compares paths part by part.
  if (rootOf(out.resources).hash != root.hash)
    return badMember("statement.subject[0].digest", "is not the digest over those of the files");
  std::ranges::sort(out.resources, {}, &ModelResource::name);
  const auto twice = std::ranges::adjacent_find(out.resources, {}, &ModelResource::name);
  if (twice != out.resources.end())
    return badMember(predicate.path("resources"), inQuotes(twice->name) + " is there twice");
  return out;
}

}  // namespace kiln::signing
