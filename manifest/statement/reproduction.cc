#include "manifest/statement/reproduction.h"

#include "manifest/spec/path.h"
#include "manifest/statement/members.h"

namespace kiln {
namespace {

constexpr std::size_t kMaxName = 1024;
constexpr std::size_t kMaxAbsent = 4096;

Result<std::string> readName(ObjectReader& reader, const char* name) {
  KILN_ASSIGN(std::string text, reader.string(name));
  if (text.empty() || text.size() > kMaxName)
    return badMember(reader.path(name), "must have 1 to 1024 bytes");
  return text;
}

Result<std::optional<Digest>> readOptional(ObjectReader& reader, const char* name) {
  if (!reader.has(name)) return std::optional<Digest>();
  KILN_ASSIGN(const Digest digest, readDigestMember(reader, name));
  return std::optional<Digest>(digest);
}

Result<std::vector<ModelFile>> readAbsent(ObjectReader& reader) {
  std::vector<ModelFile> out;
  KILN_ASSIGN(const Json* list, reader.array("absent"));
  if (list->size() > kMaxAbsent) return badMember(reader.path("absent"), "must hold at most 4096 files");
  for (const Json& one : *list) {
    KILN_ASSIGN(ObjectReader file, ObjectReader::open(one, reader.path("absent")));
    ModelFile read;
    KILN_ASSIGN(read.path, file.string("path"));
    if (auto safe = checkRelativePath(read.path); !safe)
      return badMember(file.path("path"), safe.error().message);
    KILN_ASSIGN(read.digest, file.digest());
    KILN_TRY(file.finish());
    out.push_back(std::move(read));
  }
  return out;
}

}  // namespace

Json Reproduction::toJson() const {
  Json files = Json::array();
  for (const ModelFile& file : absent) {
    Json json = digestMember(file.digest);
    json["path"] = file.path;
    files.push_back(std::move(json));
  }
  Json json{{"rebuilder", {{"id", rebuilderId}, {"worker", worker}, {"operator", operatorName}}},
            {"invocationId", invocationId},
            {"compile", digestMember(compile)},
            {"manifest", digestMember(manifest)},
            {"sandboxPolicy", digestMember(sandboxPolicy)},
            {"absent", std::move(files)},
            {"startedOn", rfc3339(startedOn)},
            {"finishedOn", rfc3339(finishedOn)}};
  if (!sandbox.empty()) json["rebuilder"]["sandbox"] = sandbox;
  if (reference) json["reference"] = digestMember(*reference);
  if (fixtures) json["fixtures"] = digestMember(*fixtures);
  if (receipt) json["receipt"] = digestMember(*receipt);
  return json;
}

Result<Reproduction> Reproduction::fromJson(const Json& predicate) {
  KILN_ASSIGN(ObjectReader reader, ObjectReader::open(predicate, "predicate"));
  Reproduction out;
  KILN_ASSIGN(ObjectReader rebuilder, reader.object("rebuilder"));
  KILN_ASSIGN(out.rebuilderId, readName(rebuilder, "id"));
  KILN_ASSIGN(out.worker, readName(rebuilder, "worker"));
  KILN_ASSIGN(out.operatorName, readName(rebuilder, "operator"));
  if (rebuilder.has("sandbox")) {
    KILN_ASSIGN(out.sandbox, readName(rebuilder, "sandbox"));
  }
  KILN_TRY(rebuilder.finish());
  KILN_ASSIGN(out.invocationId, reader.string("invocationId"));
  KILN_ASSIGN(out.compile, readDigestMember(reader, "compile"));
  KILN_ASSIGN(out.reference, readOptional(reader, "reference"));
  KILN_ASSIGN(out.manifest, readDigestMember(reader, "manifest"));
  KILN_ASSIGN(out.fixtures, readOptional(reader, "fixtures"));
  KILN_ASSIGN(out.sandboxPolicy, readDigestMember(reader, "sandboxPolicy"));
  KILN_ASSIGN(out.receipt, readOptional(reader, "receipt"));
  KILN_ASSIGN(out.absent, readAbsent(reader));
  KILN_ASSIGN(out.startedOn, readTimeMember(reader, "startedOn"));
  KILN_ASSIGN(out.finishedOn, readTimeMember(reader, "finishedOn"));
  KILN_TRY(reader.finish());
  if (out.fixtures.has_value() != out.reference.has_value())
    return badMember("predicate.fixtures", "stands beside the reference that made them, or neither does");
  return out;
}

Result<std::string> reproductionStatement(const Digest& artifact, const Reproduction& reproduction) {
  KILN_TRY(Reproduction::fromJson(reproduction.toJson()));  // nothing is written that a reader would refuse
  return toCanonicalJson(
      Statement{{{"artifact.json", artifact.hash}}, kReproductionType, reproduction.toJson()}.toJson());
}

}  // namespace kiln
