#include "storage/index/jobs/execution_repository.h"

#include <algorithm>

#include "storage/index/jobs/result_repository.h"
#include "storage/index/rows/codec.h"

namespace kiln::index {

using postgres::Connection;
using postgres::Row;
using postgres::Rows;

Status insertExecution(Connection& connection, const JobKey& key, const ExecutionRecord& execution) {
  KILN_TRY(connection.execute(
      "INSERT INTO executions (instance, job_id, action_hash, action_size, cacheable, watched) VALUES ($1, "
      "$2, $3, $4, $5, $6)",
      {key.instance, key.id, hashParam(execution.action), execution.action.size, execution.cacheable,
       execution.watched}));
  return {};
}

Result<std::vector<ResultRecord>> resultOfExecution(Connection& connection, const JobSnapshot& snapshot) {
  if (snapshot.actions.empty()) return std::vector<ResultRecord>();
  const Digest& action = snapshot.actions.front().action;
  KILN_ASSIGN(
      Rows rows,
      connection.execute("SELECT r.*, $3::bigint AS action_size FROM action_results r WHERE r.instance = $1 "
                         "AND r.action_hash = $2 AND (r.job_id = $4 OR ($5::boolean AND NOT r.disputed AND "
                         "r.exit_code = 0 AND r.recorded >= $6::timestamptz)) ORDER BY r.job_id = $4 DESC, "
                         "r.recorded, r.run_id LIMIT 1",
                         {snapshot.job.key.instance, hashParam(action), action.size, snapshot.job.key.id,
                          snapshot.job.reuse, snapshot.job.submitted}));
  return rows.map(resultAt);
}

Result<std::vector<ResultRecord>> cachedExecutions(Connection& connection, const std::string& instance,
                                                   const Digest& action, int limit) {
  // All executions of one action run the same salted one.
  KILN_ASSIGN(
      Rows rows,
      connection.execute(
          "SELECT r.*, c.size AS action_size FROM (SELECT a.action_hash FROM executions e JOIN job_actions a "
          "ON a.instance = e.instance AND a.job_id = e.job_id WHERE e.action_hash = $2 AND e.instance = $1 "
          "AND e.action_size = $3 AND e.cacheable LIMIT 1) x JOIN actions c ON c.instance = $1 AND c.hash = "
          "x.action_hash JOIN action_results r ON r.instance = $1 AND r.action_hash = x.action_hash WHERE "
          "NOT r.disputed AND r.exit_code = 0 ORDER BY r.recorded DESC, r.run_id LIMIT $4",
          {instance, hashParam(action), action.size, limit}));
  return rows.map(resultAt);
}

Status keepWatched(Connection& connection, const JobKey& key, TimePoint now) {
  KILN_TRY(connection.execute("UPDATE executions SET watched = $3 WHERE instance = $1 AND job_id = $2",
                              {key.instance, key.id, now}));
  return {};
}

Result<TimePoint> lastWatched(Connection& connection, const JobRecord& job) {
  const Digest& action = job.execution->action;
  KILN_ASSIGN(
      Rows rows,
      connection.execute("SELECT max(e.watched) AS watched FROM executions e JOIN jobs j ON j.instance = "
                         "e.instance AND j.id = e.job_id WHERE e.action_hash = $2 AND e.instance = $1 AND "
                         "e.action_size = $3 AND j.state IN (1, 2, 3)",
                         {job.key.instance, hashParam(action), action.size}));
  KILN_ASSIGN(const auto newest,
              rows.map([](const Row& row) { return row.get<std::optional<TimePoint>>("watched"); }));
  return std::max(job.execution->watched, newest.at(0).value_or(job.execution->watched));
}

Result<std::size_t> forgetExecutions(Connection& connection, TimePoint before, int limit) {
  KILN_ASSIGN(
      Rows rows,
      connection.execute(
          "DELETE FROM jobs WHERE (instance, id) IN (SELECT j.instance, j.id FROM executions e JOIN jobs j "
          "ON j.instance = e.instance AND j.id = e.job_id WHERE j.state NOT IN (1, 2, 3) AND j.ended < $1 "
          "LIMIT $2)",
          {before, limit}));
  return static_cast<std::size_t>(rows.affected());
}

}  // namespace kiln::index
