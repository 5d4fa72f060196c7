// bench_audit [--artifacts N] [--rounds N] [--plans] [--keep CONNINFO]
//
// Every question that auditors ask, and combinations of them, on a generated index: first pages of 50, p50
// and p99, and whether any table was read from one end to the other. --keep names a database that an earlier
// run filled (or an empty one to fill); otherwise a private server is started below TMPDIR and removed with
// its data. Last, what a publication writes.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <memory>

#include "storage/index/artifacts/artifact_repository.h"
#include "storage/index/schema.h"
#include "tests/bench/audit/publish.h"
#include "tests/bench/audit/questions.h"
#include "tests/support/postgres_server.h"

namespace kiln::bench {
namespace {

using namespace index;
using postgres::Connection;

struct Options {
  std::int64_t artifacts = 1'000'000;
  int rounds = 200;
  bool plans = false;
  std::string database;
};

// Rows that were read by reading whole tables, of the large ones.
Result<std::int64_t> sequentialScans(Connection& connection) {
  KILN_TRY(connection.execute("SELECT pg_stat_force_next_flush()"));
  KILN_ASSIGN(auto rows,
              connection.execute(
                  "SELECT coalesce(sum(seq_scan), 0)::bigint AS scans FROM pg_stat_user_tables WHERE relname "
                  "IN ('artifacts', 'statements', 'mentions', 'materials', 'builders', 'jobs', "
                  "'job_targets', 'sources', 'artifact_files')"));
  KILN_ASSIGN(auto scans,
              rows.first([](const postgres::Row& row) { return row.get<std::int64_t>("scans"); }));
  return scans.value_or(0);
}

Status showPlan(Connection& connection, const AffectedQuery& query) {
  const auto lists = postingsOf(query.instance, query.all);
  const Stretch all = Stretch::of(query);
  for (const BoundSql& sql : {surveySql(all, lists, 256), candidatesSql(all, lists, 128)}) {
    KILN_ASSIGN(auto rows,
                connection.execute("EXPLAIN (ANALYZE, BUFFERS, COSTS OFF) " + sql.sql, sql.params));
    for (int i = 0; i < rows.size(); ++i) fmt::print("    {}\n", rows[i].get<std::string>("QUERY PLAN"));
    fmt::print("\n");
  }
  return {};
}

Status measure(Connection& connection, const Question& question, const Options& options, Draw& draw) {
  std::vector<double> milliseconds;
  std::size_t entries = 0;
  KILN_ASSIGN(const std::int64_t before, sequentialScans(connection));
  for (int round = 0; round < options.rounds; ++round) {
    const auto start = std::chrono::steady_clock::now();
    KILN_ASSIGN(const std::size_t found, question.ask(connection, draw));
    milliseconds.push_back(
        std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count());
    entries += found;
  }
  KILN_ASSIGN(const std::int64_t after, sequentialScans(connection));
  std::sort(milliseconds.begin(), milliseconds.end());
  const auto at = [&](double part) {
    return milliseconds[static_cast<std::size_t>(part * static_cast<double>(milliseconds.size() - 1))];
  };
  fmt::print("| {} | {:.1f} | {:.2f} | {:.2f} | {:.2f} | {} |\n", question.name,
             static_cast<double>(entries) / options.rounds, at(0.5), at(0.99), milliseconds.back(),
             after == before ? "none" : std::to_string(after - before));
  std::fflush(stdout);
  if (options.plans && question.query) {
    KILN_ASSIGN(const AffectedQuery query, question.query(connection, draw));
    KILN_TRY(showPlan(connection, query));
  }
  return {};
}

Status run(const Options& options) {
  std::unique_ptr<testing_support::PostgresServer> server;
  std::string conninfo = options.database;
  if (conninfo.empty()) {
    server = std::make_unique<testing_support::PostgresServer>();
    conninfo = server->conninfo();
  }
  KILN_ASSIGN(Connection connection,
              Connection::open({.conninfo = conninfo, .statementTimeout = std::chrono::hours(2)}));
  KILN_TRY(postgres::migrate(connection, migrations()));
  KILN_ASSIGN(const auto present, listArtifacts(connection, "default", 1));
  if (present.empty()) KILN_TRY(generate(connection, options.artifacts));
  KILN_ASSIGN(auto sizes,
              connection.execute(
                  "SELECT pg_size_pretty(pg_database_size(current_database())) AS database, (SELECT "
                  "reltuples::bigint FROM pg_class WHERE oid = 'mentions'::regclass) AS mentions, (SELECT "
                  "reltuples::bigint FROM pg_class WHERE oid = 'materials'::regclass) AS materials"));
  fmt::print("{} artifacts, {} materials, {} mentions, {}; pages of {}, {} rounds each\n\n",
             options.artifacts, sizes[0].get<std::int64_t>("materials"),
             sizes[0].get<std::int64_t>("mentions"), sizes[0].get<std::string>("database"), kPage,
             options.rounds);
  fmt::print(
      "| question | entries | p50 ms | p99 ms | max ms | sequential scans |\n|---|---|---|---|---|---|\n");
  Draw draw(options.artifacts);
  for (const Question& question : questions()) KILN_TRY(measure(connection, question, options, draw));
  return measurePublications(connection, options.rounds);
}

}  // namespace
}  // namespace kiln::bench

int main(int argc, char** argv) {
  kiln::bench::Options options;
  for (int i = 1; i < argc; ++i) {
    const bool value = i + 1 < argc;
    if (value && !std::strcmp(argv[i], "--artifacts"))
      options.artifacts = std::max(1L, std::atol(argv[++i]));
    else if (value && !std::strcmp(argv[i], "--rounds"))
      options.rounds = std::max(1, std::atoi(argv[++i]));
    else if (value && !std::strcmp(argv[i], "--keep"))
      options.database = argv[++i];
    else if (!std::strcmp(argv[i], "--plans"))
      options.plans = true;
    else {
      fmt::print(stderr, "usage: bench_audit [--artifacts N] [--rounds N] [--plans] [--keep CONNINFO]\n");
      return 2;
    }
  }
  const auto done = kiln::bench::run(options);
  if (!done) fmt::print(stderr, "bench_audit: {}\n", done.error().message);
  return done ? 0 : 1;
}
