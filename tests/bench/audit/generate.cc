#include "tests/bench/audit/generate.h"

#include <fmt/format.h>

#include <chrono>

#include "manifest/statement/check_statement.h"
#include "manifest/statement/provenance.h"
#include "manifest/statement/reproduction.h"

namespace kiln::bench {
namespace {

using postgres::Connection;

constexpr std::int64_t kChunk = 100'000;
constexpr char kYear[] = "timestamptz '2026-01-01 00:00:00Z'";

// One row per artifact, with everything that was drawn for it. The farther in the year (f), the newer its
// toolchain, worker and key; low numbers of models and targets are the popular ones.
constexpr char kDrawn[] = R"sql(
CREATE UNLOGGED TABLE drawn AS
SELECT i, sha256(convert_to('artifact ' || i, 'UTF8')) AS artifact, sha256(convert_to('payload ' || i, 'UTF8')) AS payload,
  toolchain, sha256(convert_to('tree ' || toolchain, 'UTF8')) AS tree, model, model % {repositories} AS repository,
  floor(f * 50)::int AS version, target, w1, CASE WHEN two THEN (w1 + 1) % {workers} END AS w2, key,
  sha256(convert_to('key ' || key, 'UTF8')) AS signer, {year} + i * interval '{apart} s' AS recorded
FROM (SELECT i, f, least({toolchains} - 1, floor(f * ({toolchains} - 4) + 4 * power(random(), 3))::int) AS toolchain,
    floor({models} * power(random(), 3))::int AS model, floor({targets} * power(random(), 2))::int AS target,
    least({workers} - 1, floor(f * 200 + 100 * power(random(), 2))::int) AS w1, random() < 0.3 AS two,
    floor(f * {keys})::int AS key
  FROM (SELECT i, (i - 1)::float8 / {artifacts} AS f FROM generate_series(1, {artifacts}) i) n) d)sql";

constexpr char kToolchainRows[] = R"sql(
INSERT INTO toolchains (instance, label, hash, size, description, targets, added)
SELECT 'default', 'kiln-0.' || t, sha256(convert_to('tree ' || t, 'UTF8')), 1, '{{}}', '{{}}', {year}
FROM generate_series(0, {toolchains} - 1) t;
INSERT INTO toolchain_admissions (instance, label, locked, payload_hash, bundle_hash, bundle_size, admitted)
SELECT 'default', 'kiln-0.' || t, false, sha256(convert_to('admission ' || t, 'UTF8')),
  sha256(convert_to('admission ' || t, 'UTF8')), 1, {year} FROM generate_series(0, {toolchains} - 1) t;
INSERT INTO toolchain_parts (instance, tree_hash, kind, name, version, path, hash, size)
SELECT 'default', sha256(convert_to('tree ' || t, 'UTF8')), 'component', name, version, 'bin/' || name,
  sha256(convert_to(name || version, 'UTF8')), 1
FROM generate_series(0, {toolchains} - 1) t CROSS JOIN LATERAL (VALUES ('ptxas', ' ' || t / 4), ('libc', ''),
  ('kiln-cc', ' ' || t), ('kmath', ' ' || t / 10), ('libdevice', ' ' || t / 20)) c(name, version))sql";

// Of one chunk of `drawn`. Two of ten artifacts were checked as well, one was reproduced; both by other
// workers.
constexpr char kRows[] = R"sql(
INSERT INTO artifacts (instance, hash, size, config_hash, config_size, target, toolchain_label, toolchain_hash, published)
SELECT 'default', artifact, 1000, sha256(artifact), 1000, 'target-' || target, 'kiln-0.' || toolchain, tree, recorded
FROM drawn {chunk};
INSERT INTO statements (instance, payload_hash, artifact_hash, predicate_type, bundle_hash, bundle_size, job_id, recorded, signer, referrer_hash)
SELECT 'default', payload, artifact, '{provenance}', sha256(payload), 1000, lpad(i::text, 12, '0'), recorded, signer, sha256(payload || 'r')
FROM drawn {chunk};
INSERT INTO statements (instance, payload_hash, artifact_hash, predicate_type, bundle_hash, bundle_size, job_id, recorded, signer, referrer_hash)
SELECT 'default', sha256(payload || 'later'), artifact, CASE i % 10 WHEN 0 THEN '{reproduction}' ELSE '{check}' END,
  sha256(sha256(payload || 'later')), 1000, lpad(i::text, 12, '0'), recorded + interval '1 day', signer,
  sha256(payload || 's')
FROM drawn {chunk} AND i % 10 < 3;
INSERT INTO materials (instance, payload_hash, artifact_hash, kind, name, uri, hash, size)
SELECT 'default', payload, artifact, m.kind, m.name, m.uri, m.hash, 1 FROM drawn CROSS JOIN LATERAL (
  SELECT 'toolchain' AS kind, 'toolchain' AS name, '' AS uri, tree AS hash
  UNION ALL SELECT 'model', 'input/model.onnx', 'git+https://example.com/r' || repository || '@' ||
    substr(encode(sha256(convert_to(repository || ' ' || version, 'UTF8')), 'hex'), 1, 40) || '#m' || model || '.onnx',
    sha256(convert_to('model ' || model, 'UTF8'))
  UNION ALL SELECT 'data', 'input/weights.' || n, '', sha256(convert_to('model ' || model || ' ' || n, 'UTF8'))
    FROM generate_series(1, 3) n
  UNION ALL SELECT 'component', c.name, '', sha256(convert_to(c.name, 'UTF8'))
    FROM (VALUES ('ptxas ' || toolchain / 4), ('libc'), ('kiln-cc ' || toolchain), ('kmath ' || toolchain / 10),
      ('libdevice ' || toolchain / 20)) c(name)) m {chunk};
INSERT INTO builders (instance, payload_hash, artifact_hash, worker, operator)
SELECT 'default', payload, artifact, 'worker-' || w, 'operator-' || w % {operators} FROM drawn CROSS JOIN LATERAL
  unnest(ARRAY[w1, w2]) w {chunk} AND w IS NOT NULL;
INSERT INTO mentions (instance, kind, value, own, recorded, payload_hash)
SELECT DISTINCT 'default', m.kind, m.value, m.own, recorded + m.delay, m.statement FROM (
  SELECT *, sha256(payload || 'later') AS later, (w1 + 7) % {workers} AS w3 FROM drawn {chunk}) d CROSS JOIN LATERAL (
  SELECT content.kind, content.value, s.own, s.delay, s.statement FROM (
    SELECT 2 AS kind, tree AS value UNION ALL SELECT 3, sha256(convert_to('model ' || model, 'UTF8'))
    UNION ALL SELECT 3, sha256(convert_to('model ' || model || ' ' || n, 'UTF8')) FROM generate_series(1, 3) n
    UNION ALL SELECT 4, sha256(convert_to('https://example.com/r' || repository, 'UTF8'))
    UNION ALL SELECT 4, sha256(convert_to(substr(encode(sha256(convert_to(repository || ' ' || version, 'UTF8')), 'hex'), 1, 40), 'UTF8'))
    UNION ALL SELECT 4, sha256(convert_to('git+https://example.com/r' || repository || '@' || version || '#m' || model, 'UTF8'))
    UNION ALL SELECT 5, sha256(convert_to('target-' || target, 'UTF8'))
    UNION ALL SELECT 9, sha256(convert_to('submitter-' || model % {submitters}, 'UTF8'))) content
    CROSS JOIN (VALUES (true, interval '0', payload), (false, interval '1 day', later)) s(own, delay, statement)
    WHERE s.own OR i % 10 < 3
  UNION ALL SELECT k.kind, k.value, true, s.delay, s.statement FROM (
    SELECT 0 AS kind, sha256('') AS value UNION ALL SELECT 1, artifact UNION ALL SELECT 8, signer) k
    CROSS JOIN (VALUES (true, interval '0', payload), (false, interval '1 day', later)) s(own, delay, statement)
    WHERE s.own OR i % 10 < 3
  UNION ALL SELECT w.kind, sha256(convert_to(w.value, 'UTF8')), true, interval '0', payload
    FROM unnest(ARRAY[w1, w2]) n CROSS JOIN LATERAL (VALUES (6, 'worker-' || n), (7, 'operator-' || n % {operators}))
    w(kind, value) WHERE n IS NOT NULL
  UNION ALL SELECT w.kind, sha256(convert_to(w.value, 'UTF8')), true, interval '1 day', later
    FROM (VALUES (6, 'worker-' || w3), (7, 'operator-' || w3 % {operators})) w(kind, value) WHERE i % 10 < 3
  UNION ALL SELECT 10, sha256(convert_to('device-' || w3 % {devices}, 'UTF8')), true, interval '1 day', later
    WHERE i % 10 IN (1, 2)) m;
INSERT INTO jobs (instance, id, idempotency_key, request_hash, state, submitted, toolchain_label, toolchain_hash,
  toolchain_size, options, delivery, model_name, submitter)
SELECT 'default', lpad(i::text, 12, '0'), i::text, payload, 4, recorded, 'kiln-0.' || toolchain, tree, 1, '{{}}', '{{}}', 'm',
  'submitter-' || model % {submitters} FROM drawn {chunk};
INSERT INTO sources (instance, job_id, ordinal, path, hash, size)
SELECT 'default', lpad(i::text, 12, '0'), 0, 'model.onnx', sha256(convert_to('model ' || model, 'UTF8')), 1 FROM drawn {chunk};
INSERT INTO artifact_files (instance, artifact_hash, path, media_type, hash, size)
SELECT 'default', artifact, 'program.so', 'application/octet-stream', sha256(artifact || 'p'), 1 FROM drawn {chunk};
INSERT INTO job_targets (instance, job_id, ordinal, target, artifact_hash)
SELECT 'default', lpad(i::text, 12, '0'), 0, 'target-' || target, artifact FROM drawn {chunk})sql";

std::string filled(const char* sql, std::int64_t artifacts, const std::string& chunk = "") {
  return fmt::format(
      fmt::runtime(sql), fmt::arg("artifacts", artifacts), fmt::arg("chunk", chunk),
      fmt::arg("toolchains", kToolchains), fmt::arg("workers", kWorkers), fmt::arg("operators", kOperators),
      fmt::arg("keys", kKeys), fmt::arg("models", kModels), fmt::arg("repositories", kRepositories),
      fmt::arg("targets", kTargets), fmt::arg("submitters", kSubmitters), fmt::arg("devices", kDevices),
      fmt::arg("apart", kSecondsApart), fmt::arg("year", kYear), fmt::arg("provenance", kProvenanceType),
      fmt::arg("reproduction", kReproductionType), fmt::arg("check", kCheckType));
}

// Drops what would be kept up row by row; returns the statements that make it again, as it was.
Result<std::vector<std::string>> dropIndexes(Connection& connection) {
  KILN_ASSIGN(auto keys,
              connection.execute(
                  "SELECT conname AS name, conrelid::regclass::text AS of, pg_get_constraintdef(oid) AS "
                  "definition FROM pg_constraint WHERE contype = 'p' AND conrelid IN "
                  "('mentions'::regclass, 'materials'::regclass, 'builders'::regclass)"));
  KILN_ASSIGN(auto indexes,
              connection.execute(
                  "SELECT indexname AS name, indexdef AS definition FROM pg_indexes WHERE tablename IN "
                  "('mentions', 'materials', 'builders') AND indexname NOT LIKE '%_pkey'"));
  std::vector<std::string> again;
  for (int i = 0; i < indexes.size(); ++i) {
    again.push_back(indexes[i].get<std::string>("definition"));
    KILN_TRY(connection.executeScript("DROP INDEX " + indexes[i].get<std::string>("name")));
  }
  for (int i = 0; i < keys.size(); ++i) {
    const auto of = keys[i].get<std::string>("of"), name = keys[i].get<std::string>("name");
    again.push_back(
        fmt::format("ALTER TABLE {} ADD CONSTRAINT {} {}", of, name, keys[i].get<std::string>("definition")));
    KILN_TRY(connection.executeScript(fmt::format("ALTER TABLE {} DROP CONSTRAINT {}", of, name)));
  }
  return again;
}

void say(const std::string& what) {
  static const auto start = std::chrono::steady_clock::now();
  fmt::print(stderr, "{:6.0f} s  {}\n",
             std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count(), what);
}

}  // namespace

std::string labelOf(int toolchain) {
  return "kiln-0." + std::to_string(toolchain);
}
std::string repositoryOf(int repository) {
  return "https://example.com/r" + std::to_string(repository);
}
std::string commitOf(int repository, int version) {
  return digestNamed(std::to_string(repository) + " " + std::to_string(version)).hex().substr(0, 40);
}
std::string targetOf(int target) {
  return "target-" + std::to_string(target);
}
Digest digestNamed(const std::string& name) {
  return {digestOf(name).hash, 0};
}

Status generate(Connection& connection, std::int64_t artifacts) {
  // Rows that agree with each other by their making need no foreign keys checked.
  KILN_TRY(
      connection.executeScript("SET session_replication_role = replica; SET maintenance_work_mem = '1GB'; "
                               "SET work_mem = '256MB'; SET max_parallel_maintenance_workers = 0; "
                               "SELECT setseed(0.5)"));
  say("drawing " + std::to_string(artifacts) + " artifacts");
  KILN_TRY(
      connection.executeScript(filled(kDrawn, artifacts) + "; CREATE INDEX ON drawn (i); ANALYZE drawn"));
  KILN_TRY(connection.executeScript(filled(kToolchainRows, artifacts)));
  KILN_ASSIGN(const auto again, dropIndexes(connection));
  for (std::int64_t from = 1; from <= artifacts; from += kChunk) {
    KILN_TRY(connection.executeScript(
        filled(kRows, artifacts, fmt::format("WHERE i >= {} AND i < {}", from, from + kChunk))));
    say(fmt::format("rows of {} artifacts", std::min(from + kChunk - 1, artifacts)));
  }
  for (const std::string& sql : again) {
    KILN_TRY(connection.executeScript(sql));
    say(sql.substr(0, 70));
  }
  KILN_TRY(connection.executeScript("DROP TABLE drawn; SET session_replication_role = origin"));
  KILN_TRY(connection.executeScript("VACUUM ANALYZE"));
  say("vacuumed and analysed");
  return {};
}

}  // namespace kiln::bench
