#include "manifest/statement/statement.h"

#include "manifest/json/reader.h"

namespace kiln {

Json Statement::toJson() const {
  Json list = Json::array();
  for (const Subject& subject : subjects)
    list.push_back({{"name", subject.name}, {"digest", {{"sha256", toHex(subject.sha256)}}}});
  return {{"_type", kStatementType},
          {"subject", std::move(list)},
          {"predicateType", predicateType},
          {"predicate", predicate}};
}

Result<Statement> parseStatement(std::string_view text) {
  KILN_ASSIGN(Json json, parseStrictJson(text));
  KILN_ASSIGN(ObjectReader reader, ObjectReader::open(json, "statement"));
  KILN_TRY(reader.expect("_type", kStatementType));
  Statement statement;
  KILN_ASSIGN(const Json* subjects, reader.array("subject"));
  if (subjects->empty() || subjects->size() > 1024)
    return badMember("statement.subject", "must hold 1 to 1024 subjects");
  for (const Json& element : *subjects) {
    std::string place = "statement.subject[" + std::to_string(statement.subjects.size()) + "]";
    KILN_ASSIGN(ObjectReader entry, ObjectReader::open(element, place));
    Subject subject;
    KILN_ASSIGN(subject.name, entry.string("name"));
    KILN_ASSIGN(ObjectReader digests, entry.object("digest"));
    KILN_ASSIGN(std::string hex, digests.string("sha256"));
    auto digest = hex.starts_with("sha256:") ? fail(Code::kInvalidArgument, "must be bare hex digits")
                                             : Digest::parse(hex, 0);
    if (!digest) return badMember(digests.path("sha256"), digest.error().message);
    subject.sha256 = digest->hash;
    KILN_TRY(digests.finish());
    KILN_TRY(entry.finish());
    statement.subjects.push_back(std::move(subject));
  }
  KILN_ASSIGN(statement.predicateType, reader.string("predicateType"));
  KILN_TRY(reader.object("predicate"));
  KILN_ASSIGN(const Json* predicate, reader.any("predicate"));
  statement.predicate = *predicate;
  KILN_TRY(reader.finish());
  return statement;
}

}  // namespace kiln
