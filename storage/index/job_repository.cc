#include "storage/index/job_repository.h"

#include <algorithm>

#include "storage/index/codec.h"
#include "storage/index/job_changes.h"
#include "storage/index/result_repository.h"
#include "storage/index/run_codec.h"

namespace kiln::index {
namespace {

using postgres::Connection;
using postgres::Row;
using postgres::Rows;

GitSource orEmpty(const std::optional<GitSource>& source) {
  return source.value_or(GitSource{});
}

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
  job.toolchainLabel = row.get<std::string>("toolchain_label");
  job.toolchain = digestAt(row, "toolchain_hash", "toolchain_size");
  job.options = row.get<std::string>("options");
  job.delivery = row.get<std::string>("delivery");
  job.modelName = row.get<std::string>("model_name");
  if (job.state == JobState::kFailed)
    job.error = JobErrorRecord{row.get<int>("error_code"), row.get<std::string>("error_message"),
                               row.get<int>("error_exit"), row.get<std::string>("error_details")};
  job.revision = row.get<std::uint64_t>("revision");
  return job;
}

Status loadSources(Connection& connection, const JobKey& key, JobSnapshot& snapshot) {
  KILN_ASSIGN(Rows rows,
              connection.execute("SELECT * FROM sources WHERE instance = $1 AND job_id = $2 ORDER BY ordinal",
                                 {key.instance, key.id}));
  KILN_ASSIGN(snapshot.sources, rows.map([](const Row& row) {
    return SourceRecord{row.get<std::string>("path"), optionalDigestAt(row, "hash", "size"),
                        gitAt(row, "git"), gitAt(row, "origin")};
  }));
  return {};
}

Status loadTargets(Connection& connection, const JobKey& key, JobSnapshot& snapshot) {
  KILN_ASSIGN(Rows rows, connection.execute("SELECT t.target, t.artifact_hash, a.size, t.cached, t.builders "
                                            "FROM job_targets t LEFT JOIN artifacts a "
                                            "ON a.instance = t.instance AND a.hash = t.artifact_hash "
                                            "WHERE t.instance = $1 AND t.job_id = $2 ORDER BY t.ordinal",
                                            {key.instance, key.id}));
  KILN_ASSIGN(snapshot.targets, rows.map([](const Row& row) {
    return TargetRecord{row.get<std::string>("target"), optionalDigestAt(row, "artifact_hash", "size"),
                        row.get<bool>("cached"), row.get<std::vector<std::string>>("builders")};
  }));
  return {};
}

Status loadActions(Connection& connection, const JobKey& key, JobSnapshot& snapshot) {
  KILN_ASSIGN(Rows rows,
              connection.execute(
                  "SELECT a.kind, a.target, a.hash, a.size, j.source FROM job_actions j JOIN actions a "
                  "ON a.instance = j.instance AND a.hash = j.action_hash "
                  "WHERE j.instance = $1 AND j.job_id = $2 ORDER BY j.ordinal",
                  {key.instance, key.id}));
  KILN_ASSIGN(snapshot.actions, rows.map([](const Row& row) {
    return ActionRecord{static_cast<ActionKind>(row.get<int>("kind")), row.get<std::string>("target"),
                        digestAt(row, "hash", "size"), row.get<std::optional<int>>("source")};
  }));
  return {};
}

Status loadRuns(Connection& connection, const JobKey& key, JobSnapshot& snapshot) {
  KILN_ASSIGN(Rows rows,
              connection.execute("SELECT * FROM runs WHERE instance = $1 AND job_id = $2 ORDER BY queued, id",
                                 {key.instance, key.id}));
  KILN_ASSIGN(snapshot.runs, rows.map(runAt));
  for (const RunRecord& run : snapshot.runs)
    snapshot.job.revision = std::max(snapshot.job.revision, run.revision);
  return {};
}

Status insertSource(Connection& connection, const JobKey& key, std::size_t ordinal,
                    const SourceRecord& source) {
  GitSource git = orEmpty(source.git), origin = orEmpty(source.origin);
  KILN_TRY(connection.execute(
      "INSERT INTO sources VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)",
      {key.instance, key.id, ordinal, source.path, hashParam(source.blob), sizeParam(source.blob), git.url,
       git.commit, git.path, origin.url, origin.commit, origin.path}));
  return {};
}

}  // namespace

Status insertJob(Connection& connection, const JobSnapshot& snapshot) {
  const JobRecord& job = snapshot.job;
  const JobKey& key = job.key;
  KILN_TRY(connection.execute(
      "INSERT INTO jobs (instance, id, idempotency_key, request_hash, state, reuse, submitted, ended, "
      "toolchain_label, "
      "toolchain_hash, toolchain_size, options, delivery, model_name) "
      "VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)",
      {key.instance, key.id, job.idempotencyKey, hashParam(job.request), static_cast<int>(job.state),
       job.reuse, job.submitted, job.ended, job.toolchainLabel, hashParam(job.toolchain), job.toolchain.size,
       job.options, job.delivery, job.modelName}));
  for (std::size_t i = 0; i < snapshot.sources.size(); ++i)
    KILN_TRY(insertSource(connection, key, i, snapshot.sources[i]));
  for (std::size_t i = 0; i < snapshot.targets.size(); ++i) {
    const TargetRecord& target = snapshot.targets[i];
    KILN_TRY(connection.execute("INSERT INTO job_targets VALUES ($1, $2, $3, $4, $5, $6, $7)",
                                {key.instance, key.id, i, target.target, hashParam(target.artifact),
                                 target.cached, target.builders}));
  }
  KILN_TRY(addActions(connection, key, 0, snapshot.actions));
  return addRuns(connection, snapshot.runs);
}

Result<std::optional<JobSnapshot>> loadJob(Connection& connection, const JobKey& key, Evidence evidence,
                                           Lock lock) {
  KILN_ASSIGN(Rows rows,
              connection.execute(lock == Lock::kUpdate
                                     ? "SELECT * FROM jobs WHERE instance = $1 AND id = $2 FOR UPDATE"
                                     : "SELECT * FROM jobs WHERE instance = $1 AND id = $2",
                                 {key.instance, key.id}));
  KILN_ASSIGN(auto job, rows.first(jobAt));
  if (!job) return std::optional<JobSnapshot>();
  JobSnapshot snapshot;
  snapshot.job = std::move(*job);
  KILN_TRY(loadSources(connection, key, snapshot));
  KILN_TRY(loadTargets(connection, key, snapshot));
  KILN_TRY(loadActions(connection, key, snapshot));
  KILN_TRY(loadRuns(connection, key, snapshot));
  if (evidence == Evidence::kWith) {
    KILN_ASSIGN(snapshot.results, resultsOfJob(connection, key, snapshot.job.reuse));
  }
  return std::optional<JobSnapshot>(std::move(snapshot));
}

Result<std::optional<KeyedRequest>> findByIdempotencyKey(Connection& connection, const std::string& instance,
                                                         const std::string& key) {
  KILN_ASSIGN(Rows rows, connection.execute(
                             "SELECT id, request_hash FROM jobs WHERE instance = $1 AND idempotency_key = $2",
                             {instance, key}));
  return rows.first([&](const Row& row) {
    return KeyedRequest{{instance, row.get<std::string>("id")}, hashAt(row, "request_hash").hash};
  });
}

Result<std::vector<JobKey>> listJobs(Connection& connection, const std::string& instance, int limit,
                                     const std::string& before) {
  KILN_ASSIGN(Rows rows, connection.execute(
                             "SELECT id FROM jobs WHERE instance = $1 AND (submitted, id) < "
                             "COALESCE((SELECT (submitted, id) FROM jobs WHERE instance = $1 AND id = $3), "
                             "('infinity'::timestamptz, '')) ORDER BY submitted DESC, id DESC LIMIT $2",
                             {instance, limit, before}));
  return rows.map([&](const Row& row) { return JobKey{instance, row.get<std::string>("id")}; });
}

Result<std::vector<JobKey>> listOpenJobs(Connection& connection) {
  KILN_ASSIGN(Rows rows, connection.execute(
                             "SELECT instance, id FROM jobs WHERE state IN (1, 2, 3) ORDER BY submitted"));
  return rows.map(
      [](const Row& row) { return JobKey{row.get<std::string>("instance"), row.get<std::string>("id")}; });
}

}  // namespace kiln::index
