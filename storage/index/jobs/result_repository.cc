#include "storage/index/jobs/result_repository.h"

#include "storage/index/rows/codec.h"

namespace kiln::index {
namespace {

using postgres::Connection;
using postgres::Row;
using postgres::Rows;

}  // namespace

ResultRecord resultAt(const Row& row) {
  ResultRecord result;
  result.instance = row.get<std::string>("instance");
  result.runId = row.get<std::string>("run_id");
  result.epoch = row.get<std::uint64_t>("epoch");
  result.jobId = row.get<std::string>("job_id");
  result.action = digestAt(row, "action_hash", "action_size");
  result.worker = row.get<std::string>("worker");
  result.operatorName = row.get<std::string>("operator");
  result.exitCode = row.get<int>("exit_code");
  result.outputs = hashAt(row, "outputs_hash");
  result.result = bytesAt(row, "result");
  result.receipt = row.get<std::string>("receipt");
  result.certificate = row.get<std::string>("certificate");
  result.leased = row.get<TimePoint>("leased");
  result.recorded = row.get<TimePoint>("recorded");
  result.disputed = row.get<bool>("disputed");
  return result;
}

Status insertResult(Connection& connection, const ResultRecord& result) {
  KILN_TRY(connection.execute(
      "INSERT INTO action_results (instance, run_id, epoch, job_id, action_hash, worker, operator, "
      "exit_code, "
      "outputs_hash, result, receipt, certificate, leased, recorded) "
      "VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14) ON CONFLICT DO NOTHING",
      {result.instance, result.runId, result.epoch, result.jobId, hashParam(result.action), result.worker,
       result.operatorName, result.exitCode, hashParam(result.outputs), asBytes(result.result),
       result.receipt, result.certificate, result.leased, result.recorded}));
  return {};
}

Result<std::vector<ResultRecord>> resultsOfJob(Connection& connection, const JobKey& key, bool reuse) {
  KILN_ASSIGN(
      Rows rows,
      connection.execute(
          "SELECT * FROM (SELECT DISTINCT ON (r.action_hash, r.operator, r.worker, r.job_id = $2) r.*, "
          "c.size AS "
          "action_size FROM (SELECT DISTINCT action_hash FROM job_actions WHERE instance = $1 AND job_id = "
          "$2) "
          "j JOIN actions c ON c.instance = $1 AND c.hash = j.action_hash JOIN action_results r ON "
          "r.instance = "
          "$1 AND r.action_hash = j.action_hash WHERE r.job_id = $2 OR ($3::boolean AND c.kind <> $4 AND NOT "
          "r.disputed AND r.exit_code = 0) ORDER BY r.action_hash, r.operator, r.worker, r.job_id = $2, "
          "r.recorded) x "
          "ORDER BY recorded, run_id",
          {key.instance, key.id, reuse, static_cast<int>(ActionKind::kTune)}));
  return rows.map(resultAt);
}

Result<std::vector<AttemptRecord>> attemptsOfJob(Connection& connection, const JobKey& key) {
  KILN_ASSIGN(Rows results, connection.execute(
                                "SELECT r.*, u.action_size FROM runs u JOIN action_results r ON r.instance = "
                                "u.instance AND r.run_id = u.id WHERE u.instance = $1 AND u.job_id = $2",
                                {key.instance, key.id}));
  KILN_ASSIGN(const auto left, results.map(resultAt));
  KILN_ASSIGN(Rows rows,
              connection.execute("SELECT a.*, u.action_hash FROM runs u JOIN attempts a ON a.instance = "
                                 "u.instance AND a.run_id = u.id WHERE u.instance = $1 AND u.job_id = $2 AND "
                                 "a.ended IS NOT NULL ORDER BY a.leased, a.run_id, a.epoch",
                                 {key.instance, key.id}));
  return rows.map([&](const Row& row) {
    AttemptRecord out{row.get<std::string>("run_id"),   row.get<std::uint64_t>("epoch"),
                      hashAt(row, "action_hash"),       row.get<std::string>("worker"),
                      row.get<std::string>("operator"), row.get<TimePoint>("leased"),
                      row.get<TimePoint>("ended"),      row.get<std::string>("outcome"),
                      row.get<std::string>("error"),    {}};
    for (const ResultRecord& result : left)
      if (result.runId == out.runId && result.epoch == out.epoch) out.result = result;
    return out;
  });
}

Result<std::vector<ResultRecord>> reusableResults(Connection& connection, const std::string& instance,
                                                  const std::vector<Digest>& actions) {
  KILN_ASSIGN(
      Rows rows,
      connection.execute(
          "SELECT * FROM (SELECT DISTINCT ON (r.action_hash, r.operator, r.worker) r.*, c.size AS "
          "action_size FROM action_results r JOIN actions c ON c.instance = r.instance AND "
          "c.hash = r.action_hash WHERE r.instance = $1 AND r.action_hash = ANY($2) AND NOT "
          "r.disputed AND r.exit_code = 0 ORDER BY r.action_hash, r.operator, r.worker, r.recorded) x "
          "ORDER BY recorded, run_id",
          {instance, hashesParam(actions)}));
  return rows.map(resultAt);
}

Result<std::vector<ResultRecord>> protectedResults(Connection& connection, TimePoint disputedSince) {
  KILN_ASSIGN(
      Rows rows,
      connection.execute(
          "SELECT r.*, c.size AS action_size FROM action_results r JOIN actions c ON c.instance = r.instance "
          "AND c.hash = r.action_hash WHERE c.kind <> $2 AND ((r.disputed AND r.recorded > $1) OR EXISTS "
          "(SELECT FROM "
          "job_actions a JOIN jobs j ON j.instance = a.instance AND j.id = a.job_id WHERE a.instance = "
          "r.instance AND a.action_hash = r.action_hash AND j.state IN (1, 2, 3)))",
          {disputedSince, static_cast<int>(ActionKind::kExecute)}));
  return rows.map(resultAt);
}

Status markDisputed(Connection& connection, const std::string& instance, const Digest& action) {
  KILN_TRY(
      connection.execute("UPDATE action_results SET disputed = true WHERE instance = $1 AND action_hash = $2",
                         {instance, hashParam(action)}));
  return {};
}

Status markDisputed(Connection& connection, const std::vector<ResultRecord>& results) {
  for (const ResultRecord& result : results)
    KILN_TRY(connection.execute(
        "UPDATE action_results SET disputed = true WHERE instance = $1 AND run_id = $2 AND epoch = $3",
        {result.instance, result.runId, result.epoch}));
  return {};
}

}  // namespace kiln::index
