#include "storage/index/jobs/job_repository.h"

#include "storage/index/jobs/execution_repository.h"
#include "storage/index/jobs/job_changes.h"
#include "storage/index/rows/codec.h"

namespace kiln::index {
namespace {

using postgres::Connection;
using postgres::Row;
using postgres::Rows;

GitSource orEmpty(const std::optional<GitSource>& source) {
  return source.value_or(GitSource{});
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

Result<std::optional<KeyedRequest>> findByIdempotencyKey(Connection& connection, const std::string& instance,
                                                         const std::string& key) {
  KILN_ASSIGN(Rows rows, connection.execute(
                             "SELECT id, request_hash FROM jobs WHERE instance = $1 AND idempotency_key = $2",
                             {instance, key}));
  return rows.first([&](const Row& row) {
    return KeyedRequest{{instance, row.get<std::string>("id")}, hashAt(row, "request_hash").hash};
  });
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
