#include "storage/index/artifacts/mention_repository.h"

#include "manifest/statement/statement.h"
#include "storage/index/rows/codec.h"

namespace kiln::index {
namespace {

using postgres::Connection;
using postgres::Row;
using postgres::Rows;

// Time and artifact are those of the statement's row: a statement that comes again, with a second publication
// of its artifact, keeps the time of its first.
constexpr char kInsertOwn[] =
    "INSERT INTO mentions (instance, kind, value, own, recorded, payload_hash) "
    "SELECT t.instance, m.kind, m.value, true, t.recorded, t.payload_hash FROM statements t, "
    "unnest($3::bigint[], $4::bytea[]) AS m(kind, value) WHERE t.instance = $1 AND t.payload_hash = $2 "
    "ON CONFLICT (instance, payload_hash, kind, value) DO NOTHING";

// What the artifact's provenances said of its content (MentionKind: isContent()).
constexpr char kInherit[] =
    "INSERT INTO mentions (instance, kind, value, own, recorded, payload_hash) "
    "SELECT DISTINCT t.instance, m.kind, m.value, false, t.recorded, t.payload_hash FROM statements t "
    "JOIN statements s ON s.instance = t.instance AND s.artifact_hash = t.artifact_hash "
    "JOIN mentions m ON m.instance = s.instance AND m.payload_hash = s.payload_hash "
    "WHERE t.instance = $1 AND t.payload_hash = $2 AND s.predicate_type = $3 AND m.own "
    "AND m.kind IN (2, 3, 4, 5) ON CONFLICT (instance, payload_hash, kind, value) DO NOTHING";

}  // namespace

Status insertMentions(Connection& connection, const std::string& instance, const BundleRecord& bundle) {
  std::vector<std::int64_t> kinds;
  std::vector<Digest> values;
  for (const Mention& mention : bundle.mentions) {
    kinds.push_back(static_cast<std::int64_t>(mention.kind));
    values.push_back(mention.value);
  }
  KILN_TRY(connection.execute(kInsertOwn, {instance, hashParam(bundle.payload), kinds, hashesParam(values)}));
  if (bundle.predicateType != kProvenanceType)
    KILN_TRY(connection.execute(kInherit, {instance, hashParam(bundle.payload), kProvenanceType}));
  KILN_TRY(connection.execute("UPDATE statements SET signer = $3 WHERE instance = $1 AND payload_hash = $2",
                              {instance, hashParam(bundle.payload), hashParam(bundle.signer)}));
  return {};
}

Result<std::vector<UnreadStatement>> listUnread(Connection& connection, bool provenance,
                                                const UnreadStatement* after, int limit) {
  KILN_ASSIGN(
      Rows rows,
      connection.execute(
          "SELECT instance, payload_hash, artifact_hash, predicate_type, bundle_hash, bundle_size, job_id, "
          "recorded FROM statements WHERE signer IS NULL AND (predicate_type = $1) = $2 AND "
          "(instance, payload_hash) > ($3, $4) ORDER BY instance, payload_hash LIMIT $5",
          {kProvenanceType, provenance, after ? after->instance : "",
           after ? hashParam(after->bundle.payload) : postgres::Param(Bytes()), limit}));
  return rows.map([](const Row& row) {
    return UnreadStatement{
        row.get<std::string>("instance"), hashAt(row, "artifact_hash"),
        BundleRecord{hashAt(row, "payload_hash"), digestAt(row, "bundle_hash", "bundle_size"),
                     row.get<std::string>("predicate_type"), row.get<std::string>("job_id"),
                     row.get<TimePoint>("recorded")}};
  });
}

Result<std::uint64_t> countUnread(Connection& connection, const std::string& instance, int limit) {
  KILN_ASSIGN(Rows rows, connection.execute(
                             "SELECT count(*) AS unread FROM (SELECT FROM statements WHERE instance = $1 AND "
                             "signer IS NULL LIMIT $2) s",
                             {instance, limit}));
  KILN_ASSIGN(auto unread, rows.first([](const Row& row) { return row.get<std::uint64_t>("unread"); }));
  return unread.value_or(0);
}

}  // namespace kiln::index
