// Jobs with what belongs to them, read back: each kind of rows by one statement, however many jobs are asked
// for.
#include <map>

#include "storage/index/jobs/execution_repository.h"
#include "storage/index/jobs/job_repository.h"
#include "storage/index/jobs/result_repository.h"
#include "storage/index/rows/codec.h"
#include "storage/index/rows/run_codec.h"

namespace kiln::index {
namespace {

using postgres::Connection;
using postgres::Row;
using postgres::Rows;

// Of a job all but what was submitted, which may be megabytes.
constexpr char kJobColumns[] =
    "j.instance, j.id, j.idempotency_key, j.request_hash, j.state, j.cancel_wanted, j.reuse, j.submitted, "
    "j.ended, j.deadline, j.toolchain_label, j.toolchain_hash, j.toolchain_size, j.model_name, j.submitter, "
    "j.trace, j.error_code, j.error_message, j.error_exit, j.error_details, j.revision, "
    "e.action_hash AS executed_hash, e.action_size AS executed_size, e.cacheable, e.watched";
constexpr char kFromJobs[] =
    " FROM jobs j LEFT JOIN executions e ON e.instance = j.instance AND e.job_id = j.id ";

JobRecord jobAt(const Row& row) {
  JobRecord job;
  job.key = {row.get<std::string>("instance"), row.get<std::string>("id")};
  job.idempotencyKey = row.get<std::string>("idempotency_key");
  job.request = hashAt(row, "request_hash");
  job.state = static_cast<JobState>(row.get<int>("state"));
  job.cancelWanted = row.get<bool>("cancel_wanted");
  job.reuse = row.get<bool>("reuse");
  job.submitted = row.get<TimePoint>("submitted");
  job.ended = row.get<std::optional<TimePoint>>("ended");
  job.deadline = row.get<std::optional<TimePoint>>("deadline");
  job.toolchainLabel = row.get<std::string>("toolchain_label");
  job.toolchainDigest = digestAt(row, "toolchain_hash", "toolchain_size");
  job.modelName = row.get<std::string>("model_name");
  job.submitter = row.get<std::string>("submitter");
  job.trace = row.get<std::string>("trace");
  if (job.state == JobState::kFailed)
    job.error = JobErrorRecord{row.get<int>("error_code"), row.get<std::string>("error_message"),
                               row.get<int>("error_exit"), row.get<std::string>("error_details")};
  if (const auto executed = optionalDigestAt(row, "executed_hash", "executed_size"))
    job.execution = ExecutionRecord{*executed, row.get<bool>("cacheable"), row.get<TimePoint>("watched")};
  job.revision = row.get<std::uint64_t>("revision");
  return job;
}

// Snapshots of one instance, which their owner keeps in place, by the ids of their jobs.
class Snapshots {
 public:
  Snapshots(std::string instance, std::span<JobSnapshot> snapshots) : instance_(std::move(instance)) {
    for (JobSnapshot& snapshot : snapshots) {
      ids_.push_back(snapshot.job.key.id);
      of_.emplace(snapshot.job.key.id, &snapshot);
    }
  }
  // Rows of `sql`, whose $1 and $2 are the instance and the ids, each handed on with the snapshot of its
  // job_id.
  template <class Take>
  Status each(Connection& connection, const char* sql, Take take) const {
    KILN_ASSIGN(Rows rows, connection.execute(sql, {instance_, ids_}));
    for (int i = 0; i < rows.size(); ++i)
      if (const auto owner = of_.find(rows[i].get<std::string>("job_id")); owner != of_.end())
        take(rows[i], *owner->second);
    return rows.status();
  }

 private:
  std::string instance_;
  std::vector<std::string> ids_;
  std::map<std::string, JobSnapshot*> of_;
};

Status readSources(Connection& connection, const Snapshots& snapshots) {
  return snapshots.each(
      connection, "SELECT * FROM sources WHERE instance = $1 AND job_id = ANY($2) ORDER BY job_id, ordinal",
      [](const Row& row, JobSnapshot& snapshot) {
        snapshot.sources.push_back({row.get<std::string>("path"), optionalDigestAt(row, "hash", "size"),
                                    gitAt(row, "git"), gitAt(row, "origin")});
      });
}

Status readTargets(Connection& connection, const Snapshots& snapshots) {
  return snapshots.each(
      connection,
      "SELECT t.job_id, t.target, t.artifact_hash, coalesce(a.size, 0) AS size, t.cached, t.builders, "
      "t.check_outcome, t.tuning_hash, t.tuning_size, t.ir "
      "FROM job_targets t LEFT JOIN artifacts a ON a.instance = t.instance AND a.hash = t.artifact_hash "
      "WHERE t.instance = $1 AND t.job_id = ANY($2) ORDER BY t.job_id, t.ordinal",
      [](const Row& row, JobSnapshot& snapshot) {
        snapshot.targets.push_back(
            {row.get<std::string>("target"), optionalDigestAt(row, "artifact_hash", "size"),
             row.get<bool>("cached"), row.get<std::vector<std::string>>("builders"),
             static_cast<CheckOutcome>(row.get<int>("check_outcome")),
             optionalDigestAt(row, "tuning_hash", "tuning_size"), row.get<bool>("ir")});
      });
}

Status readActions(Connection& connection, const Snapshots& snapshots) {
  return snapshots.each(
      connection,
      "SELECT j.job_id, a.kind, a.target, a.hash, a.size, j.source FROM job_actions j JOIN actions a "
      "ON a.instance = j.instance AND a.hash = j.action_hash "
      "WHERE j.instance = $1 AND j.job_id = ANY($2) ORDER BY j.job_id, j.ordinal",
      [](const Row& row, JobSnapshot& snapshot) {
        snapshot.actions.push_back({static_cast<ActionKind>(row.get<int>("kind")),
                                    row.get<std::string>("target"), digestAt(row, "hash", "size"),
                                    row.get<std::optional<int>>("source")});
      });
}

Status readRuns(Connection& connection, const Snapshots& snapshots) {
  return snapshots.each(connection,
                        "SELECT r.*, EXISTS (SELECT FROM action_results e WHERE e.instance = r.instance "
                        "AND e.run_id = r.id AND e.exit_code <> 0) AS tool_failed, CASE WHEN r.state = 1 "
                        "THEN (SELECT a.leased FROM attempts a WHERE a.instance = r.instance "
                        "AND a.run_id = r.id AND a.epoch = r.epoch) END AS leased FROM runs r "
                        "WHERE r.instance = $1 AND r.job_id = ANY($2) ORDER BY r.job_id, r.queued, r.id",
                        [](const Row& row, JobSnapshot& snapshot) {
                          RunRecord run = runAt(row);
                          if (run.state == RunState::kDone && row.get<bool>("tool_failed"))
                            snapshot.failedRuns.insert(run.id);
                          if (const auto leased = row.get<std::optional<TimePoint>>("leased"))
                            snapshot.leasedSince.emplace(run.id, *leased);
                          // The sum and not the highest of them: of two changes at once the one that commits
                          // last may have the lower number.
                          snapshot.job.revision += run.revision;
                          snapshot.runs.push_back(std::move(run));
                        });
}

}  // namespace

Result<std::optional<JobSnapshot>> loadJob(Connection& connection, const JobKey& key, Evidence evidence,
                                           Lock lock) {
  const std::string select = std::string("SELECT ") + kJobColumns + ", j.options, j.delivery" + kFromJobs +
                             "WHERE j.instance = $1 AND j.id = $2" +
                             (lock == Lock::kUpdate ? " FOR UPDATE OF j" : "");
  KILN_ASSIGN(Rows rows, connection.execute(select, {key.instance, key.id}));
  KILN_ASSIGN(auto found, rows.first([](const Row& row) {
    JobSnapshot snapshot;
    snapshot.job = jobAt(row);
    snapshot.job.spec = row.get<std::string>("options");  // as the release before knows it
    snapshot.job.delivery = row.get<std::string>("delivery");
    return snapshot;
  }));
  if (!found) return found;
  const Snapshots one(key.instance, {&*found, 1});
  KILN_TRY(readSources(connection, one));
  KILN_TRY(readTargets(connection, one));
  KILN_TRY(readActions(connection, one));
  KILN_TRY(readRuns(connection, one));
  if (evidence == Evidence::kWith && found->job.execution) {
    KILN_ASSIGN(found->results, resultOfExecution(connection, *found));
  } else if (evidence == Evidence::kWith) {
    KILN_ASSIGN(found->results, resultsOfJob(connection, key, found->job.reuse));
  }
  return found;
}

Result<std::vector<JobSnapshot>> listJobs(Connection& connection, const std::string& instance, int limit,
                                          const std::string& before) {
  const std::string select =
      std::string("SELECT ") + kJobColumns + kFromJobs +
      "WHERE j.instance = $1 AND (j.submitted, j.id) < COALESCE((SELECT (submitted, id) FROM jobs "
      "WHERE instance = $1 AND id = $3), ('infinity'::timestamptz, '')) "
      "ORDER BY j.submitted DESC, j.id DESC LIMIT $2";
  KILN_ASSIGN(Rows rows, connection.execute(select, {instance, limit, before}));
  KILN_ASSIGN(std::vector<JobSnapshot> page, rows.map([](const Row& row) {
    JobSnapshot snapshot;
    snapshot.job = jobAt(row);
    return snapshot;
  }));
  const Snapshots all(instance, page);
  KILN_TRY(readTargets(connection, all));
  KILN_TRY(readActions(connection, all));
  KILN_TRY(readRuns(connection, all));
  return page;
}

}  // namespace kiln::index
