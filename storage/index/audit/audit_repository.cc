#include "storage/index/audit/audit_repository.h"

#include <map>

#include "manifest/statement/vsa.h"
#include "storage/index/rows/codec.h"

namespace kiln::index {
namespace {

using postgres::Connection;
using postgres::Row;
using postgres::Rows;

StatementRecord statementAt(const Row& row) {
  StatementRecord out;
  out.artifact = hashAt(row, "artifact_hash");
  out.bundle = {hashAt(row, "payload_hash"), digestAt(row, "bundle_hash", "bundle_size"),
                row.get<std::string>("predicate_type"), row.get<std::string>("job_id"),
                row.get<TimePoint>("recorded")};
  if (!row.isNull("signer")) out.bundle.signer = hashAt(row, "signer");
  return out;
}

// Calls `add` for each row of a table whose payload is among the statements'.
template <class Add>
Status addRows(Connection& connection, const char* sql, const std::string& instance,
               std::vector<StatementRecord>& statements, Add add) {
  std::map<Digest, StatementRecord*> byPayload;
  std::vector<Digest> payloads;
  for (StatementRecord& statement : statements) {
    byPayload[statement.bundle.payload] = &statement;
    payloads.push_back(statement.bundle.payload);
  }
  KILN_ASSIGN(Rows rows, connection.execute(sql, {instance, hashesParam(payloads)}));
  for (int i = 0; i < rows.size(); ++i)
    if (auto at = byPayload.find(hashAt(rows[i], "payload_hash")); at != byPayload.end())
      add(*at->second, rows[i]);
  return rows.status();
}

// Finds mentions of a submitter (kind 9) none of whose jobs came to the artifact or made the statement.
constexpr char kUnknownSubmitter[] =
    "e.kind = 9 AND NOT EXISTS (SELECT FROM job_targets t JOIN jobs j ON j.instance = t.instance AND j.id = "
    "t.job_id WHERE t.instance = s.instance AND t.artifact_hash = s.artifact_hash AND "
    "sha256(convert_to(j.submitter, 'UTF8')) = e.value) AND NOT EXISTS (SELECT FROM statements o JOIN jobs j "
    "ON "
    "j.instance = o.instance AND j.id = o.job_id WHERE o.instance = s.instance AND o.artifact_hash = "
    "s.artifact_hash AND sha256(convert_to(j.submitter, 'UTF8')) = e.value)";

// Rows of a table that name another artifact (or, of mentions, another time) than the statement's own row.
Status findInconsistent(Connection& connection, const std::string& table, const std::string& differs,
                        const std::string& instance, std::vector<StatementRecord>& out) {
  return addRows(
      connection,
      ("SELECT DISTINCT s.payload_hash FROM statements s JOIN " + table +
       " e ON e.instance = s.instance AND e.payload_hash = s.payload_hash WHERE s.instance = $1 AND "
       "s.payload_hash = ANY($2::bytea[]) AND (" +
       differs + ")")
          .c_str(),
      instance, out,
      [&](StatementRecord& statement, const Row&) { statement.inconsistent.push_back(table); });
}

Result<std::vector<StatementRecord>> withEdges(Connection& connection, const std::string& instance,
                                               Rows found) {
  KILN_ASSIGN(std::vector<StatementRecord> out, found.map(statementAt));
  KILN_TRY(addRows(connection,
                   "SELECT * FROM materials WHERE instance = $1 AND payload_hash = ANY($2::bytea[]) ORDER BY "
                   "payload_hash, kind COLLATE \"C\", name COLLATE \"C\"",
                   instance, out, [](StatementRecord& statement, const Row& row) {
                     statement.materials.push_back({row.get<std::string>("kind"),
                                                    row.get<std::string>("name"), row.get<std::string>("uri"),
                                                    digestAt(row, "hash", "size")});
                   }));
  KILN_TRY(addRows(connection,
                   "SELECT * FROM builders WHERE instance = $1 AND payload_hash = ANY($2::bytea[]) ORDER BY "
                   "payload_hash, worker COLLATE \"C\"",
                   instance, out, [](StatementRecord& statement, const Row& row) {
                     statement.builders.push_back(
                         {row.get<std::string>("worker"), row.get<std::string>("operator")});
                   }));
  KILN_TRY(
      addRows(connection,
              "SELECT payload_hash, kind, value, own FROM mentions WHERE instance = $1 AND payload_hash = "
              "ANY($2::bytea[]) ORDER BY payload_hash, kind, value",
              instance, out, [](StatementRecord& statement, const Row& row) {
                const Mention mention{static_cast<MentionKind>(row.get<int>("kind")), hashAt(row, "value")};
                (row.get<bool>("own") ? statement.bundle.mentions : statement.inherited).push_back(mention);
              }));
  const std::string artifact = "e.artifact_hash <> s.artifact_hash";
  KILN_TRY(findInconsistent(connection, "materials", artifact, instance, out));
  KILN_TRY(findInconsistent(connection, "builders", artifact, instance, out));
  KILN_TRY(findInconsistent(connection, "mentions", "e.recorded <> s.recorded", instance, out));
  KILN_TRY(findInconsistent(connection, "mentions", kUnknownSubmitter, instance, out));
  return out;
}

// $1 instance, $2 the first place, $3 how many, $4 the envelopes' payload types. A log digest is of DSSE's
// pre-authentication encoding, which is spelled out here.
constexpr char kLogged[] = R"sql(
SELECT g.*, s.bundle_hash AS said, s.bundle_size AS said_size,
  a.bundle_hash AS admitted, a.bundle_size AS admitted_size, t.bundle_hash AS tuned, t.bundle_size AS tuned_size,
  coalesce(g.instance <> $1, false) AND (
    EXISTS (SELECT FROM statements o JOIN artifacts x ON x.instance = o.instance AND x.hash = o.artifact_hash
      WHERE o.instance = g.instance AND o.payload_hash = g.payload_hash) OR
    EXISTS (SELECT FROM toolchain_admissions o JOIN toolchains c ON c.instance = o.instance AND c.label = o.label
      WHERE o.instance = g.instance AND o.payload_hash = g.payload_hash) OR
    EXISTS (SELECT FROM tuning_records o WHERE o.instance = g.instance AND o.payload_hash = g.payload_hash)) AS kept
FROM (SELECT log_index, log_digest, payload_hash, instance, leaf, tree_size, proof,
    payload IS NULL OR (sha256(payload) = payload_hash AND EXISTS (SELECT FROM unnest($4::text[]) AS type WHERE log_digest =
      sha256(convert_to(format('DSSEv1 %s %s %s ', octet_length(type), type, octet_length(payload)), 'UTF8') || payload)))
      AS whole
  FROM signatures WHERE log_index >= $2 ORDER BY log_index LIMIT $3) g
LEFT JOIN LATERAL (SELECT s.* FROM statements s JOIN artifacts x ON x.instance = s.instance AND x.hash = s.artifact_hash
  WHERE s.instance = $1 AND s.payload_hash = g.payload_hash) s ON true
LEFT JOIN LATERAL (SELECT a.* FROM toolchain_admissions a JOIN toolchains c ON c.instance = a.instance AND c.label = a.label
  WHERE a.instance = $1 AND a.payload_hash = g.payload_hash LIMIT 1) a ON s.payload_hash IS NULL
LEFT JOIN LATERAL (SELECT t.* FROM tuning_records t WHERE t.instance = $1 AND t.payload_hash = g.payload_hash
  LIMIT 1) t ON s.payload_hash IS NULL
ORDER BY g.log_index)sql";

LoggedRecord loggedAt(const Row& row) {
  LoggedRecord out;
  out.place = row.get<std::uint64_t>("log_index");
  if (!row.isNull("instance")) out.instance = row.get<std::string>("instance");
  out.whole = row.get<bool>("whole");
  out.kept = row.get<bool>("kept");
  out.logDigest = hashAt(row, "log_digest");
  out.leaf = bytesAt(row, "leaf");
  if (!row.isNull("tree_size")) out.treeSize = row.get<std::uint64_t>("tree_size");
  if (!row.isNull("proof")) out.proof = bytesAt(row, "proof");
  if (!row.isNull("payload_hash")) out.payload = hashAt(row, "payload_hash");
  if (!row.isNull("said")) {
    out.table = "statements";
    out.bundle = digestAt(row, "said", "said_size");
  } else if (!row.isNull("admitted")) {
    out.table = "toolchain_admissions";
    out.bundle = digestAt(row, "admitted", "admitted_size");
  } else if (!row.isNull("tuned")) {
    out.table = "tuning_records";
    out.bundle = digestAt(row, "tuned", "tuned_size");
  }
  return out;
}

}  // namespace

Result<std::vector<StatementRecord>> listStatementsOf(Connection& connection, const std::string& instance,
                                                      const Digest& artifact,
                                                      const std::optional<Position>& after, int limit) {
  const Position from = after.value_or(Position{TimePoint{}, {}});
  KILN_ASSIGN(
      Rows rows,
      connection.execute("SELECT * FROM statements WHERE instance = $1 AND artifact_hash = $2 AND (recorded, "
                         "payload_hash) > ($3, $4) ORDER BY recorded, payload_hash LIMIT $5",
                         {instance, hashParam(artifact), from.recorded, hashParam(from.payload), limit}));
  return withEdges(connection, instance, std::move(rows));
}

Result<std::map<Digest, std::vector<Digest>>> listActionsOf(Connection& connection,
                                                            const std::string& instance,
                                                            const std::vector<Digest>& artifacts) {
  KILN_ASSIGN(Rows rows, connection.execute(
                             "SELECT artifact_hash, action_hash FROM artifact_actions WHERE instance = $1 "
                             "AND artifact_hash = ANY($2) ORDER BY artifact_hash, action_hash",
                             {instance, hashesParam(artifacts)}));
  std::map<Digest, std::vector<Digest>> out;
  for (int i = 0; i < rows.size(); ++i)
    out[hashAt(rows[i], "artifact_hash")].push_back(hashAt(rows[i], "action_hash"));
  KILN_TRY(rows.status());
  return out;
}

Result<std::vector<SubmissionRecord>> listSubmissions(Connection& connection, const std::string& instance,
                                                      const Digest& artifact, const std::string& after,
                                                      int limit) {
  KILN_ASSIGN(Rows rows,
              connection.execute(
                  "SELECT t.job_id, t.target, t.cached, j.submitter, j.submitted FROM job_targets t "
                  "JOIN jobs j ON j.instance = t.instance AND j.id = t.job_id WHERE t.instance = $1 AND "
                  "t.artifact_hash = $2 AND t.job_id > $3 ORDER BY t.job_id LIMIT $4",
                  {instance, hashParam(artifact), after, limit}));
  KILN_ASSIGN(std::vector<SubmissionRecord> out, rows.map([](const Row& row) {
    return SubmissionRecord{row.get<std::string>("job_id"), row.get<std::string>("submitter"),
                            row.get<std::string>("target"), row.get<TimePoint>("submitted"),
                            row.get<bool>("cached"),        {}};
  }));
  std::vector<std::string> ids;
  for (const SubmissionRecord& submission : out) ids.push_back(submission.jobId);
  KILN_ASSIGN(Rows sources,
              connection.execute("SELECT * FROM sources WHERE instance = $1 AND job_id = ANY($2::text[]) "
                                 "ORDER BY job_id, ordinal",
                                 {instance, ids}));
  for (int i = 0; i < sources.size(); ++i) {
    const Row row = sources[i];
    for (SubmissionRecord& submission : out)
      if (submission.jobId == row.get<std::string>("job_id"))
        submission.sources.push_back({row.get<std::string>("path"), optionalDigestAt(row, "hash", "size"),
                                      gitAt(row, "git"), gitAt(row, "origin")});
  }
  KILN_TRY(sources.status());
  return out;
}

Result<std::vector<LoggedRecord>> listLogged(Connection& connection, const std::string& instance,
                                             const LoggedPage& page,
                                             const std::vector<std::string>& payloadTypes) {
  KILN_ASSIGN(Rows rows, connection.execute(kLogged, {instance, page.from, page.limit, payloadTypes}));
  return rows.map(loggedAt);
}

Result<bool> hasLaterVerdict(Connection& connection, const std::string& instance, const Digest& artifact,
                             std::uint64_t place) {
  KILN_ASSIGN(Rows rows,
              connection.execute(
                  "SELECT EXISTS (SELECT FROM statements s JOIN artifacts x ON x.instance = s.instance AND "
                  "x.hash = s.artifact_hash JOIN signatures g ON g.payload_hash = s.payload_hash WHERE "
                  "s.instance = $1 AND s.artifact_hash = $2 AND s.predicate_type = $3 AND g.log_index > $4) "
                  "AS later",
                  {instance, hashParam(artifact), kVsaType, place}));
  if (rows.size() == 0) return false;
  const bool out = rows[0].get<bool>("later");
  KILN_TRY(rows.status());
  return out;
}

Result<std::vector<AdmissionRecord>> listAdmissions(Connection& connection, const std::string& instance,
                                                    const std::vector<Digest>& trees) {
  KILN_ASSIGN(Rows rows,
              connection.execute(
                  "SELECT a.* FROM toolchains t JOIN toolchain_admissions a ON a.instance = t.instance "
                  "AND a.label = t.label WHERE t.instance = $1 AND t.hash = ANY($2::bytea[]) ORDER BY "
                  "a.admitted, a.label, a.locked LIMIT 1000",
                  {instance, hashesParam(trees)}));
  return rows.map([](const Row& row) {
    return AdmissionRecord{row.get<std::string>("instance"),
                           row.get<std::string>("label"),
                           optionalDigestAt(row, "lock_hash", "lock_size"),
                           hashAt(row, "payload_hash"),
                           digestAt(row, "bundle_hash", "bundle_size"),
                           row.get<TimePoint>("admitted")};
  });
}

}  // namespace kiln::index
