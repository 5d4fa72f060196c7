#include "manifest/statement/image_statement.h"

#include "manifest/statement/members.h"

namespace kiln {
namespace {

Json digestsJson(const std::vector<Digest>& digests) {
  Json out = Json::array();
  for (const Digest& digest : digests) out.push_back(digestMember(digest));
  return out;
}

Result<std::vector<Digest>> readDigests(ObjectReader& parent, const char* name, std::size_t least,
                                        std::size_t most) {
  KILN_ASSIGN(const Json* list, parent.array(name));
  if (list->size() < least || list->size() > most)
    return badMember(parent.path(name),
                     "must hold " + std::to_string(least) + " to " + std::to_string(most) + " digests");
  std::vector<Digest> out;
  for (const Json& one : *list) {
    KILN_ASSIGN(ObjectReader reader, ObjectReader::open(one, parent.path(name)));
    KILN_ASSIGN(const Digest digest, reader.digest());
    KILN_TRY(reader.finish());
    out.push_back(digest);
  }
  return out;
}

Result<Statement> statementOf(const ArtifactImage& image) {
  KILN_ASSIGN(const ImageDocuments documents, makeImage(image));
  const Digest digest = digestOf(documents.manifest);
  return Statement{{{"artifact.json", image.artifact.hash}, {"image", digest.hash}},
                   kImageType,
                   {{"image", digestMember(digest)},
                    {"layers", digestsJson(image.layers)},
                    {"bundles", digestsJson(image.bundles)}}};
}

}  // namespace

Result<std::string> imageStatement(const ArtifactImage& image) {
  KILN_ASSIGN(const Statement statement, statementOf(image));
  return toCanonicalJson(statement.toJson());
}

Result<StatedImage> readImageStatement(const Statement& statement, const Digest& artifact,
                                       const std::string& target) {
  StatedImage out{{artifact, target, {}, {}}, {}};
  KILN_ASSIGN(ObjectReader reader, ObjectReader::open(statement.predicate, "image"));
  KILN_ASSIGN(out.digest, readDigestMember(reader, "image"));
  KILN_ASSIGN(out.image.layers, readDigests(reader, "layers", 2, 2));
  KILN_ASSIGN(out.image.bundles, readDigests(reader, "bundles", 1, kMaxImageBundles));
  KILN_TRY(reader.finish());
  KILN_ASSIGN(const Statement again, statementOf(out.image));
  if (again.subjects.size() == statement.subjects.size() && again.predicate == statement.predicate &&
      again.subjects[0].sha256 == statement.subjects[0].sha256 &&
      again.subjects[1].sha256 == statement.subjects[1].sha256)
    return out;
  return fail(Code::kDataLoss, "its statement is about another artifact than " + artifact.text() +
                                   ", or about another image than its layers make");
}

std::optional<Digest> artifactOf(const Statement& statement) {
  if (statement.subjects.size() != (statement.predicateType == kImageType ? 2 : 1)) return std::nullopt;
  return Digest{statement.subjects[0].sha256, 0};
}

}  // namespace kiln
