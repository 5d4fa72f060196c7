#include "storage/index/jobs/job_repository.h"

#include "storage/index/jobs/execution_repository.h"
#include "storage/index/jobs/job_changes.h"
#include "storage/index/jobs/result_repository.h"
#include "storage/index/rows/codec.h"
#include "storage/index/rows/run_codec.h"

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
  job.deadline = row.get<std::optional<TimePoint>>("deadline");
  job.toolchainLabel = row.get<std::string>("toolchain_label");
  job.toolchainDigest = digestAt(row, "toolchain_hash", "toolchain_size");
  job.spec = row.get<std::string>("options");  // as the release before knows it
  job.delivery = row.get<std::string>("delivery");
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
  KILN_ASSIGN(Rows rows,
              connection.execute(
                  "SELECT t.target, t.artifact_hash, coalesce(a.size, 0) AS size, t.cached, t.builders, "
                  "t.check_outcome, t.tuning_hash, t.tuning_size "
                  "FROM job_targets t LEFT JOIN artifacts a "
                  "ON a.instance = t.instance AND a.hash = t.artifact_hash "
                  "WHERE t.instance = $1 AND t.job_id = $2 ORDER BY t.ordinal",
                  {key.instance, key.id}));
  KILN_ASSIGN(snapshot.targets, rows.map([](const Row& row) {
    return TargetRecord{row.get<std::string>("target"),
                        optionalDigestAt(row, "artifact_hash", "size"),
                        row.get<bool>("cached"),
                        row.get<std::vector<std::string>>("builders"),
                        static_cast<CheckOutcome>(row.get<int>("check_outcome")),
                        optionalDigestAt(row, "tuning_hash", "tuning_size")};
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
  KILN_ASSIGN(Rows rows, connection.execute(
                             "SELECT r.*, EXISTS (SELECT FROM action_results e WHERE e.instance = r.instance "
                             "AND e.run_id = r.id AND e.exit_code <> 0) AS tool_failed FROM runs r WHERE "
                             "instance = $1 AND job_id = $2 ORDER BY queued, id",
                             {key.instance, key.id}));
  KILN_ASSIGN(snapshot.runs, rows.map([&](const Row& row) {
    RunRecord run = runAt(row);
    if (run.state == RunState::kDone && row.get<bool>("tool_failed")) snapshot.failedRuns.insert(run.id);
    return run;
  }));
  // Not the highest of them: of two changes at once the one that commits last may have the lower number.
  for (const RunRecord& run : snapshot.runs) snapshot.job.revision += run.revision;
  return {};
}

// Columns of several rows, for unnest().
struct Columns {
  std::vector<std::int64_t> ordinals;
  std::vector<std::string> texts[7];
  std::vector<std::vector<std::uint8_t>> hashes;
  std::vector<std::int64_t> sizes;
};

void pushDigest(Columns& columns, const std::optional<Digest>& digest) {
  columns.hashes.emplace_back();
  if (digest) columns.hashes.back().assign(digest->hash.begin(), digest->hash.end());
  columns.sizes.push_back(digest ? static_cast<std::int64_t>(digest->size) : 0);
}

Columns sourceColumns(const std::vector<SourceRecord>& sources) {
  Columns out;
  for (const SourceRecord& source : sources) {
    GitSource git = orEmpty(source.git), origin = orEmpty(source.origin);
    out.ordinals.push_back(static_cast<std::int64_t>(out.ordinals.size()));
    const std::string* texts[] = {&source.path, &git.url,       &git.commit, &git.path,
                                  &origin.url,  &origin.commit, &origin.path};
    for (std::size_t i = 0; i < std::size(texts); ++i) out.texts[i].push_back(*texts[i]);
    pushDigest(out, source.blob);
  }
  return out;
}

Columns targetColumns(const std::vector<TargetRecord>& targets) {
  Columns out;
  for (const TargetRecord& target : targets) {
    out.ordinals.push_back(static_cast<std::int64_t>(out.ordinals.size()));
    std::string builders;  // names hold no comma
    for (const std::string& builder : target.builders) builders += (builders.empty() ? "" : ",") + builder;
    out.texts[0].push_back(target.target);
    out.texts[1].push_back(target.cached ? "t" : "f");
    out.texts[2].push_back(builders);
    pushDigest(out, target.artifact);
  }
  return out;
}

constexpr char kSelectJob[] =
    "SELECT j.*, e.action_hash AS executed_hash, e.action_size AS executed_size, e.cacheable, e.watched FROM "
    "jobs j LEFT JOIN executions e ON e.instance = j.instance AND e.job_id = j.id WHERE j.instance = $1 AND "
    "j.id = $2";

// Job, sources and targets; an empty hash stands for none.
constexpr char kInsertJob[] = R"sql(
WITH job AS (
  INSERT INTO jobs (instance, id, idempotency_key, request_hash, state, reuse, submitted, ended, toolchain_label,
    toolchain_hash, toolchain_size, options, delivery, model_name, submitter, deadline, trace)
  VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $30, $31, $32)),
source AS (
  INSERT INTO sources (instance, job_id, ordinal, path, hash, size, git_url, git_commit, git_path, origin_url,
    origin_commit, origin_path)
  SELECT $1, $2, s.ordinal, s.path, nullif(s.hash, ''::bytea), CASE WHEN s.hash = ''::bytea THEN NULL ELSE s.size END,
    s.git_url, s.git_commit, s.git_path, s.origin_url, s.origin_commit, s.origin_path
  FROM unnest($15::integer[], $16::text[], $17::bytea[], $18::bigint[], $19::text[], $20::text[], $21::text[],
    $22::text[], $23::text[], $24::text[])
    AS s(ordinal, path, hash, size, git_url, git_commit, git_path, origin_url, origin_commit, origin_path))
INSERT INTO job_targets (instance, job_id, ordinal, target, artifact_hash, cached, builders)
SELECT $1, $2, t.ordinal, t.target, nullif(t.hash, ''::bytea), t.cached::boolean, string_to_array(t.builders, ',')
FROM unnest($25::integer[], $26::text[], $27::bytea[], $28::text[], $29::text[])
  AS t(ordinal, target, hash, cached, builders))sql";

}  // namespace

Status insertJob(Connection& connection, const JobSnapshot& snapshot) {
  const JobRecord& job = snapshot.job;
  const JobKey& key = job.key;
  Columns sources = sourceColumns(snapshot.sources), targets = targetColumns(snapshot.targets);
  KILN_TRY(connection.execute(kInsertJob, {key.instance,
                                           key.id,
                                           job.idempotencyKey,
                                           hashParam(job.request),
                                           static_cast<int>(job.state),
                                           job.reuse,
                                           job.submitted,
                                           job.ended,
                                           job.toolchainLabel,
                                           hashParam(job.toolchainDigest),
                                           job.toolchainDigest.size,
                                           job.spec,
                                           job.delivery,
                                           job.modelName,
                                           sources.ordinals,
                                           sources.texts[0],
                                           sources.hashes,
                                           sources.sizes,
                                           sources.texts[1],
                                           sources.texts[2],
                                           sources.texts[3],
                                           sources.texts[4],
                                           sources.texts[5],
                                           sources.texts[6],
                                           targets.ordinals,
                                           targets.texts[0],
                                           targets.hashes,
                                           targets.texts[1],
                                           targets.texts[2],
                                           job.submitter,
                                           job.deadline,
                                           job.trace}));
  if (job.execution) KILN_TRY(insertExecution(connection, key, *job.execution));
  KILN_TRY(addActions(connection, key, 0, snapshot.actions));
  return addRuns(connection, snapshot.runs);
}

Result<std::string> traceOfJob(Connection& connection, const JobKey& job) {
  KILN_ASSIGN(Rows rows, connection.execute("SELECT trace FROM jobs WHERE instance = $1 AND id = $2",
                                            {job.instance, job.id}));
  KILN_ASSIGN(auto trace, rows.first([](const Row& row) { return row.get<std::string>("trace"); }));
  return trace.value_or("");
}

Result<std::optional<JobSnapshot>> loadJob(Connection& connection, const JobKey& key, Evidence evidence,
                                           Lock lock) {
  KILN_ASSIGN(Rows rows,
              connection.execute(std::string(kSelectJob) + (lock == Lock::kUpdate ? " FOR UPDATE OF j" : ""),
                                 {key.instance, key.id}));
  KILN_ASSIGN(auto job, rows.first(jobAt));
  if (!job) return std::optional<JobSnapshot>();
  JobSnapshot snapshot;
  snapshot.job = std::move(*job);
  KILN_TRY(loadSources(connection, key, snapshot));
  KILN_TRY(loadTargets(connection, key, snapshot));
  KILN_TRY(loadActions(connection, key, snapshot));
  KILN_TRY(loadRuns(connection, key, snapshot));
  if (evidence == Evidence::kWith && snapshot.job.execution) {
    KILN_ASSIGN(snapshot.results, resultOfExecution(connection, snapshot));
  } else if (evidence == Evidence::kWith) {
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

Result<std::vector<JobKey>> listOpenJobs(Connection& connection, const std::optional<JobKey>& after,
                                         std::size_t limit) {
  const JobKey from = after.value_or(JobKey{});  // before every key
  KILN_ASSIGN(Rows rows, connection.execute("SELECT instance, id FROM jobs WHERE state IN (1, 2, 3) AND "
                                            "(instance, id) > ($1, $2) ORDER BY instance, id LIMIT $3",
                                            {from.instance, from.id, limit}));
  return rows.map(
      [](const Row& row) { return JobKey{row.get<std::string>("instance"), row.get<std::string>("id")}; });
}

Result<std::vector<JobKey>> listOverdueJobs(Connection& connection, TimePoint now, std::size_t limit) {
  KILN_ASSIGN(Rows rows,
              connection.execute("SELECT instance, id FROM jobs WHERE state IN (1, 2, 3) AND "
                                 "deadline IS NOT NULL AND deadline <= $1 ORDER BY deadline LIMIT $2",
                                 {now, limit}));
  return rows.map(
      [](const Row& row) { return JobKey{row.get<std::string>("instance"), row.get<std::string>("id")}; });
}

Result<int> countQueued(Connection& connection, const std::string& instance, int most) {
  KILN_ASSIGN(Rows rows, connection.execute(
                             "SELECT count(*)::integer AS runs FROM (SELECT FROM runs WHERE instance = $1 "
                             "AND state = 0 LIMIT $2) q",
                             {instance, most}));
  KILN_ASSIGN(const auto runs, rows.first([](const Row& row) { return row.get<int>("runs"); }));
  return runs.value_or(0);
}

}  // namespace kiln::index
