#include "manifest/statement/tombstone.h"

#include <algorithm>

#include "manifest/json/reader.h"

namespace kiln {
namespace {

constexpr std::size_t kMaxStatements = 1024;

Result<std::vector<Digest>> readStatements(ObjectReader& reader) {
  KILN_ASSIGN(const Json* list, reader.array("statements"));
  if (list->empty() || list->size() > kMaxStatements)
    return badMember(reader.path("statements"), "must name 1 to 1024 statements");
  std::vector<Digest> out;
  for (const Json& json : *list) {
    const auto* text = json.get_ptr<const std::string*>();
    auto digest =
        text && text->starts_with("sha256:") ? Digest::parse(*text, 0) : fail(Code::kInvalidArgument, "");
    if (!digest || (!out.empty() && *digest <= out.back()))
      return badMember(reader.path("statements"), "must be sorted digests \"sha256:<hex>\", each once");
    out.push_back(*digest);
  }
  return out;
}

}  // namespace

bool Tombstone::covers(const Digest& payload) const {
  return std::ranges::binary_search(statements, payload.hash, {}, &Digest::hash);
}

Json Tombstone::toJson() const {
  Json list = Json::array();
  for (const Digest& statement : statements) list.push_back(statement.text());
  return {{"issuer", {{"id", builderId}}},
          {"issuedOn", rfc3339(issuedOn)},
          {"reason", reason},
          {"statements", std::move(list)}};
}

Result<Tombstone> Tombstone::fromJson(const Json& predicate) {
  KILN_ASSIGN(ObjectReader reader, ObjectReader::open(predicate, "predicate"));
  Tombstone out;
  KILN_ASSIGN(ObjectReader issuer, reader.object("issuer"));
  KILN_ASSIGN(out.builderId, issuer.string("id"));
  if (out.builderId.empty()) return badMember(issuer.path("id"), "must not be empty");
  KILN_TRY(issuer.finish());
  KILN_ASSIGN(std::string time, reader.string("issuedOn"));
  auto issued = parseRfc3339(time);
  if (!issued) return badMember(reader.path("issuedOn"), issued.error().message);
  out.issuedOn = *issued;
  KILN_ASSIGN(out.reason, reader.string("reason"));
  if (out.reason.empty() || out.reason.size() > kMaxTombstoneReason)
    return badMember(reader.path("reason"), "must have 1 to 1000 bytes");
  KILN_ASSIGN(out.statements, readStatements(reader));
  KILN_TRY(reader.finish());
  return out;
}

Result<std::string> tombstoneStatement(const Digest& artifact, const Tombstone& tombstone) {
  KILN_TRY(Tombstone::fromJson(tombstone.toJson()));  // nothing is written that a reader would refuse
  return toCanonicalJson(
      Statement{{{"artifact.json", artifact.hash}}, kTombstoneType, tombstone.toJson()}.toJson());
}

}  // namespace kiln
