#include "storage/index/jobs/job_changes.h"

#include "storage/index/rows/codec.h"

namespace kiln::index {

using postgres::Connection;

Status touchJob(Connection& connection, const JobKey& key) {
  // The trigger replaces the value.
  KILN_TRY(connection.execute("UPDATE jobs SET revision = 0 WHERE instance = $1 AND id = $2",
                              {key.instance, key.id}));
  return {};
}

Status addActions(Connection& connection, const JobKey& key, std::size_t firstOrdinal,
                  const std::vector<ActionRecord>& actions) {
  if (actions.empty()) return {};
  std::vector<std::int64_t> ordinals, sizes, kinds, sources;
  std::vector<Digest> digests;
  std::vector<std::string> targets;
  for (const ActionRecord& action : actions) {
    ordinals.push_back(static_cast<std::int64_t>(firstOrdinal + ordinals.size()));
    digests.push_back(action.action);
    sizes.push_back(static_cast<std::int64_t>(action.action.size));
    kinds.push_back(static_cast<int>(action.kind));
    targets.push_back(action.target);
    sources.push_back(action.source.value_or(-1));
  }
  KILN_TRY(connection.execute(
      "WITH given AS (SELECT * FROM unnest($3::integer[], $4::bytea[], $5::bigint[], $6::smallint[], "
      "$7::text[], "
      "$8::integer[]) AS g(ordinal, hash, size, kind, target, source)), known AS (INSERT INTO actions "
      "(instance, "
      "hash, size, kind, target) SELECT DISTINCT ON (hash) $1, hash, size, kind, target FROM given ON "
      "CONFLICT DO "
      "NOTHING) INSERT INTO job_actions (instance, job_id, ordinal, action_hash, source) SELECT $1, $2, "
      "ordinal, hash, "
      "nullif(source, -1) FROM given ON CONFLICT DO NOTHING",
      {key.instance, key.id, ordinals, hashesParam(digests), sizes, kinds, targets, sources}));
  return {};
}

Status addRuns(Connection& connection, const std::vector<RunRecord>& runs) {
  for (const RunRecord& run : runs) {
    GitSource git = run.git.value_or(GitSource{});
    KILN_TRY(connection.execute(
        "INSERT INTO runs (instance, id, job_id, action_hash, action_size, kind, target, toolchain_hash, "
        "git_url, git_commit, git_path, priority, operators_wanted, excluded_workers, counted_operators, "
        "time_limit, state, queued, emulated, subject, magnitude, expected, job_deadline, "
        "toolchain_size) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, "
        "$18, $19, $20, $21, $22, $23, $24)",
        {run.instance,
         run.id,
         run.jobId,
         hashParam(run.action),
         run.action.size,
         static_cast<int>(run.kind),
         run.target,
         hashParam(run.toolchainDigest),
         git.url,
         git.commit,
         git.path,
         run.priority,
         run.operatorsWanted,
         run.excludedWorkers,
         run.countedOperators,
         run.timeLimitSeconds,
         static_cast<int>(run.state),
         run.queued,
         run.emulated,
         hashParam(run.subject.content),
         run.subject.magnitude,
         run.expectedSeconds,
         run.jobDeadline,
         run.toolchainDigest.size}));
  }
  return {};
}

Status resolveSource(Connection& connection, const JobKey& key, const ResolvedSource& resolved) {
  KILN_TRY(connection.execute(
      "UPDATE sources SET hash = $4, size = $5, path = $6, git_path = $7 WHERE instance = $1 AND job_id = $2 "
      "AND ordinal = $3",
      {key.instance, key.id, resolved.ordinal, hashParam(resolved.blob), resolved.blob.size, resolved.path,
       resolved.gitPath}));
  KILN_TRY(connection.execute("UPDATE jobs SET options = $3 WHERE instance = $1 AND id = $2",
                              {key.instance, key.id, resolved.spec}));
  for (const SourceRecord& source : resolved.further) {
    GitSource git = source.git.value_or(GitSource{});
    KILN_TRY(connection.execute(
        "INSERT INTO sources (instance, job_id, ordinal, path, hash, size, git_url, git_commit, git_path) "
        "SELECT $1, $2, max(ordinal) + 1, $3, $4, $5, $6, $7, $8 FROM sources WHERE instance = $1 AND job_id "
        "= $2",
        {key.instance, key.id, source.path, hashParam(source.blob), sizeParam(source.blob), git.url,
         git.commit, git.path}));
  }
  return touchJob(connection, key);
}

Status setTargetArtifact(Connection& connection, const JobKey& key, int ordinal, const Digest& artifact,
                         bool cached, const std::vector<std::string>& builders) {
  KILN_TRY(
      connection.execute("UPDATE job_targets SET artifact_hash = $4, cached = $5, builders = $6 "
                         "WHERE instance = $1 AND job_id = $2 AND ordinal = $3",
                         {key.instance, key.id, ordinal, hashParam(artifact), cached, builders}));
  return touchJob(connection, key);
}

Status setTargetTuning(Connection& connection, const JobKey& key, int ordinal, const Digest& tuning) {
  KILN_TRY(
      connection.execute("UPDATE job_targets SET tuning_hash = $4, tuning_size = $5 WHERE instance = $1 AND "
                         "job_id = $2 AND ordinal = $3",
                         {key.instance, key.id, ordinal, hashParam(tuning), tuning.size}));
  return {};
}

Status setTargetCheck(Connection& connection, const JobKey& key, int ordinal, CheckOutcome outcome) {
  KILN_TRY(connection.execute(
      "UPDATE job_targets SET check_outcome = $4 WHERE instance = $1 AND job_id = $2 AND ordinal = $3",
      {key.instance, key.id, ordinal, static_cast<int>(outcome)}));
  return touchJob(connection, key);
}

Status setTargetIr(Connection& connection, const JobKey& key, int ordinal) {
  KILN_TRY(connection.execute(
      "UPDATE job_targets SET ir = true WHERE instance = $1 AND job_id = $2 AND ordinal = $3",
      {key.instance, key.id, ordinal}));
  return touchJob(connection, key);
}

Status stopReuse(Connection& connection, const JobKey& key) {
  KILN_TRY(connection.execute("UPDATE jobs SET reuse = false WHERE instance = $1 AND id = $2",
                              {key.instance, key.id}));
  return {};
}

Status wantCancel(Connection& connection, const JobKey& key) {
  KILN_TRY(connection.execute(
      "UPDATE jobs SET cancel_wanted = true WHERE instance = $1 AND id = $2 AND state IN (1, 2, 3)",
      {key.instance, key.id}));
  return {};
}

Result<bool> endJob(Connection& connection, const JobKey& key, JobState state,
                    const std::optional<JobErrorRecord>& error, TimePoint now) {
  JobErrorRecord why = error.value_or(JobErrorRecord{});
  KILN_ASSIGN(
      postgres::Rows rows,
      connection.execute("UPDATE jobs SET state = $3, ended = $4, error_code = $5, error_message = $6, "
                         "error_exit = $7, error_details = $8 "
                         "WHERE instance = $1 AND id = $2 AND state IN (1, 2, 3)",
                         {key.instance, key.id, static_cast<int>(state), now, why.code, why.message,
                          why.exitCode, why.details}));
  if (rows.affected() == 0) return false;
  KILN_TRY(connection.execute(
      "UPDATE attempts a SET ended = $3, outcome = 'cancelled' FROM runs r WHERE r.instance = $1 AND "
      "r.job_id = $2 "
      "AND r.state = 1 AND a.instance = r.instance AND a.run_id = r.id AND a.epoch = r.epoch",
      {key.instance, key.id, now}));
  KILN_TRY(
      connection.execute("UPDATE runs SET state = 4 WHERE instance = $1 AND job_id = $2 AND state IN (0, 1)",
                         {key.instance, key.id}));
  return true;
}

}  // namespace kiln::index
