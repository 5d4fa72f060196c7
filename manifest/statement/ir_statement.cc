#include "manifest/statement/ir_statement.h"

#include "manifest/spec/path.h"
#include "manifest/statement/members.h"

namespace kiln {
namespace {

Result<std::vector<ModelFile>> readFiles(ObjectReader& predicate) {
  KILN_ASSIGN(const Json* list, predicate.array("files"));
  if (list->empty() || list->size() > kMaxIrFiles)
    return badMember(predicate.path("files"), "must hold 1 to 1024 files");
  std::vector<ModelFile> out;
  std::uint64_t left = kMaxIrBytes;
  for (const Json& one : *list) {
    KILN_ASSIGN(ObjectReader file,
                ObjectReader::open(one, predicate.path("files") + "[" + std::to_string(out.size()) + "]"));
    ModelFile read;
    KILN_ASSIGN(read.path, file.string("path"));
    if (const Status safe = checkRelativePath(read.path); !safe)
      return badMember(file.path("path"), safe.error().message);
    if (!out.empty() && read.path <= out.back().path)
      return badMember(file.path("path"), "must come after the path before it");
    KILN_ASSIGN(read.digest, file.digest());
    KILN_TRY(file.finish());
    if (read.digest.size > left)
      return badMember(predicate.path("files"), "must hold 256 MiB together at most");
    left -= read.digest.size;
    out.push_back(std::move(read));
  }
  return out;
}

Result<Digest> digestOfIr(const Digest& artifact, const std::vector<ModelFile>& files) {
  KILN_ASSIGN(const std::string manifest, makeReferrer(irReferrer(artifact, files)));
  return digestOf(manifest);
}

}  // namespace

Referrer irReferrer(const Digest& artifact, const std::vector<ModelFile>& files) {
  Referrer out{kIrArtifactType, artifact, digestOf(kEmptyConfig), {}};
  for (const ModelFile& file : files) out.layers.push_back({file.path, kBlobMediaType, file.digest});
  return out;
}

Json IrStatement::toJson() const {
  Json list = Json::array();
  for (const ModelFile& file : files) {
    Json one = digestMember(file.digest);
    one["path"] = file.path;
    list.push_back(std::move(one));
  }
  Json json = members("compiler");
  json["toolchain"] = digestMember(toolchain);
  json["ir"] = digestMember(ir);
  json["files"] = std::move(list);
  return json;
}

Result<IrStatement> IrStatement::fromJson(const Json& predicate) {
  KILN_ASSIGN(ObjectReader reader, ObjectReader::open(predicate, "predicate"));
  IrStatement out;
  KILN_TRY(out.readMembers(reader, "compiler"));
  KILN_ASSIGN(out.toolchain, readDigestMember(reader, "toolchain"));
  KILN_ASSIGN(out.ir, readDigestMember(reader, "ir"));
  KILN_ASSIGN(out.files, readFiles(reader));
  KILN_TRY(reader.finish());
  return out;
}

Status IrStatement::checkAbout(const Digest& artifact, const CompileSpec& spec) const {
  if (toolchain != spec.toolchainDigest)
    return fail(Code::kDataLoss, "its IR is of another toolchain (" + toolchain.text() + ")");
  KILN_ASSIGN(const Digest made, digestOfIr(artifact, files));
  if (made == ir) return {};
  return fail(Code::kDataLoss, "its files make another IR of " + artifact.text() + " than " + ir.text());
}

Result<std::string> irStatement(const Digest& artifact, IrStatement& ir) {
  KILN_ASSIGN(ir.ir, digestOfIr(artifact, ir.files));
  KILN_TRY(IrStatement::fromJson(ir.toJson()));  // nothing is written that a reader would refuse
  return toCanonicalJson(Statement{{{"artifact.json", artifact.hash}}, kIrType, ir.toJson()}.toJson());
}

}  // namespace kiln
