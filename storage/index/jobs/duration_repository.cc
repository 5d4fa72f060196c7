#include "storage/index/jobs/duration_repository.h"

#include <algorithm>

#include "storage/index/rows/codec.h"

namespace kiln::index {
namespace {

using postgres::Connection;
using postgres::Row;
using postgres::Rows;

// '' is less than any hash, so that a row of the subject itself comes first.
constexpr char kExpectations[] = R"sql(
SELECT d.seconds, d.runs, coalesce(d.subject <> ''::bytea, false) AS own
FROM unnest($2::smallint[], $3::text[], $4::smallint[], $5::bytea[]) WITH ORDINALITY
  AS w(kind, target, magnitude, subject, number)
LEFT JOIN LATERAL (SELECT * FROM durations d WHERE d.instance = $1 AND d.kind = w.kind AND d.target = w.target
  AND d.magnitude = w.magnitude AND d.subject IN (w.subject, ''::bytea) ORDER BY d.subject DESC LIMIT 1) d ON true
ORDER BY w.number)sql";

// $1 instance, $2 kind, $3 target, $4 magnitude, $5 subject, $6 seconds. Whether a row is there is asked
// first: a conflict with one that another transaction changes would wait for that transaction.
constexpr char kRecord[] = R"sql(
WITH counted AS (
  UPDATE durations d SET runs = d.runs + 1, seconds = d.seconds + ($6 - d.seconds) * greatest(1.0 / (d.runs + 1), 0.2)
  FROM (SELECT * FROM durations WHERE instance = $1 AND kind = $2 AND target = $3 AND magnitude = $4
    AND subject IN ($5, ''::bytea) FOR NO KEY UPDATE SKIP LOCKED) k
  WHERE d.instance = k.instance AND d.kind = k.kind AND d.target = k.target AND d.magnitude = k.magnitude
    AND d.subject = k.subject)
INSERT INTO durations (instance, kind, target, magnitude, subject, seconds, runs)
SELECT $1, $2, $3, $4, s, $6, 1 FROM unnest(ARRAY[$5, ''::bytea]) s
WHERE NOT EXISTS (SELECT FROM durations d WHERE d.instance = $1 AND d.kind = $2 AND d.target = $3 AND d.magnitude = $4
  AND d.subject = s) ON CONFLICT DO NOTHING)sql";

}  // namespace

Result<std::vector<std::optional<Expectation>>> expectationsOf(Connection& connection,
                                                               const std::string& instance,
                                                               const std::vector<WorkKind>& works) {
  std::vector<std::int64_t> kinds, magnitudes;
  std::vector<std::string> targets;
  std::vector<Digest> subjects;
  for (const WorkKind& work : works) {
    kinds.push_back(static_cast<int>(work.kind));
    targets.push_back(work.target);
    magnitudes.push_back(work.subject.magnitude);
    subjects.push_back(work.subject.content);
  }
  KILN_ASSIGN(Rows rows, connection.execute(kExpectations,
                                            {instance, kinds, targets, magnitudes, hashesParam(subjects)}));
  return rows.map([](const Row& row) -> std::optional<Expectation> {
    const auto seconds = row.get<std::optional<double>>("seconds");
    if (!seconds) return std::nullopt;
    return Expectation{*seconds, row.get<int>("runs"), row.get<bool>("own")};
  });
}

Status recordDuration(Connection& connection, const RunRecord& run, double seconds) {
  KILN_TRY(connection.execute(kRecord,
                              {run.instance, static_cast<int>(run.kind), run.target, run.subject.magnitude,
                               hashParam(run.subject.content), std::max(seconds, 0.0)}));
  return {};
}

}  // namespace kiln::index
