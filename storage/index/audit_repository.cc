#include "storage/index/audit_repository.h"

#include <algorithm>
#include <map>

#include "storage/index/codec.h"

namespace kiln::index {
namespace {

using postgres::Connection;
using postgres::Row;
using postgres::Rows;

constexpr int kSurvey = 500;           // rows counted per term to find the rarest condition
constexpr int kFirstScan = 128;        // candidates looked at first; four times as many each time after
constexpr int kCandidateLimit = 2000;  // for one page

struct Candidate {
  Position at;
  bool hit = false;
};

Candidate candidateAt(const Row& row) {
  return {{row.get<TimePoint>("recorded"), hashAt(row, "payload_hash")}, row.get<bool>("hit")};
}

// The rarest list first, and the window no wider than where all lists have rows. False if one has none.
Result<bool> narrow(Connection& connection, AffectedQuery& query, std::vector<Postings>& lists) {
  const BoundSql survey = surveySql(query, lists, kSurvey);
  KILN_ASSIGN(Rows rows, connection.execute(survey.sql, survey.params));
  // Fewest entries first; of those with as many as are counted, the one whose newest reach back farthest.
  std::vector<std::tuple<std::uint64_t, TimePoint, std::size_t>> order;
  for (int i = 0; i < rows.size(); ++i) {
    const auto entries = rows[i].get<std::uint64_t>("entries");
    if (entries == 0) return false;
    order.emplace_back(entries, rows[i].get<TimePoint>("reach"), static_cast<std::size_t>(i));
    const auto oldest = rows[i].get<TimePoint>("oldest"), newest = rows[i].get<TimePoint>("newest");
    query.since = std::max(query.since.value_or(oldest), oldest);
    query.until = std::min(query.until.value_or(TimePoint::max()), newest + Duration(1));
  }
  KILN_TRY(rows.status());
  std::sort(order.begin(), order.end());
  std::vector<Postings> sorted;
  for (const auto& [entries, reach, list] : order) sorted.push_back(std::move(lists[list]));
  lists = std::move(sorted);
  return *query.since < *query.until;
}

Result<std::vector<AffectedRecord>> describe(Connection& connection, const std::string& instance,
                                             const std::vector<Digest>& payloads) {
  KILN_ASSIGN(
      Rows rows,
      connection.execute(
          "SELECT s.*, a.size, a.target FROM unnest($2::bytea[]) WITH ORDINALITY AS p(payload, place) "
          "JOIN statements s ON s.instance = $1 AND s.payload_hash = p.payload "
          "JOIN artifacts a ON a.instance = $1 AND a.hash = s.artifact_hash ORDER BY p.place",
          {instance, hashesParam(payloads)}));
  return rows.map([](const Row& row) {
    AffectedRecord out{digestAt(row, "artifact_hash", "size"), row.get<std::string>("target"), {}};
    out.statement = {hashAt(row, "payload_hash"), digestAt(row, "bundle_hash", "bundle_size"),
                     row.get<std::string>("predicate_type"), row.get<std::string>("job_id"),
                     row.get<TimePoint>("recorded")};
    return out;
  });
}

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
  return out;
}

}  // namespace

Result<AffectedPage> findAffected(Connection& connection, const AffectedQuery& asked, int limit) {
  AffectedPage page;
  AffectedQuery query = asked;
  std::vector<Postings> lists = postingsOf(query.all);
  if (lists.size() > 1) {
    KILN_ASSIGN(const bool meet, narrow(connection, query, lists));
    if (!meet) return page;
  }
  std::vector<Digest> payloads;
  page.next = query.after;
  bool ended = false, full = false;
  int scan = lists.size() == 1 ? limit + 1 : std::max(kFirstScan, limit + 1);
  for (int left = kCandidateLimit; left > 0 && !ended && !full; scan *= 4) {
    query.after = page.next;
    const BoundSql sql = candidatesSql(query, lists, std::min(scan, left));
    KILN_ASSIGN(Rows rows, connection.execute(sql.sql, sql.params));
    KILN_ASSIGN(const std::vector<Candidate> candidates, rows.map(candidateAt));
    ended = candidates.size() < static_cast<std::size_t>(std::min(scan, left));
    left -= scan;
    for (const Candidate& candidate : candidates) {
      // A statement may be in several of the lists that one condition stands for.
      const bool found = candidate.hit && (payloads.empty() || payloads.back() != candidate.at.payload);
      full = found && payloads.size() == static_cast<std::size_t>(limit);
      if (full) break;
      if (found) payloads.push_back(candidate.at.payload);
      page.next = candidate.at;
    }
  }
  if (full) ended = false;
  if (ended) page.next.reset();
  KILN_ASSIGN(page.entries, describe(connection, query.instance, payloads));
  return page;
}

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

Result<std::vector<Digest>> listActionsOf(Connection& connection, const std::string& instance,
                                          const Digest& artifact) {
  KILN_ASSIGN(Rows rows,
              connection.execute("SELECT action_hash FROM artifact_actions WHERE instance = $1 AND "
                                 "artifact_hash = $2 ORDER BY action_hash",
                                 {instance, hashParam(artifact)}));
  return rows.map([](const Row& row) { return hashAt(row, "action_hash"); });
}

Result<std::vector<Digest>> listArtifactsByHash(Connection& connection, const std::string& instance,
                                                const Digest& after, int limit) {
  KILN_ASSIGN(Rows rows,
              connection.execute(
                  "SELECT hash, size FROM artifacts WHERE instance = $1 AND hash > $2 ORDER BY hash LIMIT $3",
                  {instance, hashParam(after), limit}));
  return rows.map([](const Row& row) { return digestAt(row, "hash", "size"); });
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
