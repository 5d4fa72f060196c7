// bench_audit [--artifacts N] [--rounds N] [--plans] [--keep CONNINFO]
//
// Every question that auditors ask, and combinations of them, on a generated index: first pages of 50, p50
// and p99, and whether any table was read from one end to the other. --keep names a database that an earlier
// run filled (or an empty one to fill); otherwise a private server is started below TMPDIR and removed with
// its data.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <functional>
#include <iterator>
#include <memory>
#include <random>

#include "manifest/statement/provenance.h"
#include "storage/index/artifact_repository.h"
#include "storage/index/audit_repository.h"
#include "storage/index/schema.h"
#include "storage/index/toolchain_parts.h"
#include "storage/index/toolchain_repository.h"
#include "tests/bench/audit/generate.h"
#include "tests/support/postgres_server.h"

namespace kiln::bench {
namespace {

using namespace index;
using postgres::Connection;

constexpr int kPage = 50;

struct Options {
  std::int64_t artifacts = 1'000'000;
  int rounds = 200;
  bool plans = false;
  std::string database;
};

// Draws what to ask for; every round something else, the popular and the rare alike.
class Draw {
 public:
  explicit Draw(std::int64_t artifacts) : artifacts_(artifacts) {}
  int below(int end) { return static_cast<int>(random_() % static_cast<unsigned>(end)); }
  Digest artifact() {
    return digestNamed("artifact " + std::to_string(1 + random_() % static_cast<std::uint64_t>(artifacts_)));
  }
  AnyOf tree() {
    return {{MentionKind::kToolchain, digestNamed("tree " + std::to_string(below(kToolchains)))}};
  }
  AnyOf model() { return {{MentionKind::kInput, digestNamed("model " + std::to_string(below(kModels)))}}; }
  AnyOf popularModel() { return {{MentionKind::kInput, digestNamed("model " + std::to_string(below(10)))}}; }
  AnyOf repository() { return text(MentionKind::kSource, repositoryOf(below(kRepositories))); }
  AnyOf commit() { return text(MentionKind::kSource, commitOf(below(kRepositories), below(50))); }
  AnyOf worker() { return text(MentionKind::kWorker, "worker-" + std::to_string(below(kWorkers))); }
  AnyOf operatorName() {
    return text(MentionKind::kOperator, "operator-" + std::to_string(below(kOperators)));
  }
  AnyOf key() { return {{MentionKind::kKey, digestNamed("key " + std::to_string(below(kKeys)))}}; }
  AnyOf target() { return text(MentionKind::kTarget, targetOf(below(kTargets))); }
  // A day to a month somewhere in the time that was generated.
  void window(AffectedQuery& query) {
    const auto length = std::chrono::hours(24 * (1 + below(30)));
    const auto all = std::chrono::seconds(artifacts_ * kSecondsApart);
    const TimePoint start = parseRfc3339("2026-01-01T00:00:00Z").value();
    query.since = start + std::chrono::seconds(random_() % static_cast<std::uint64_t>(all.count()));
    query.until = *query.since + length;
  }

 private:
  static AnyOf text(MentionKind kind, const std::string& value) { return {{kind, textValue(value)}}; }
  const std::int64_t artifacts_;
  std::mt19937_64 random_{7};
};

struct Question {
  std::string name;
  std::function<Result<std::size_t>(Connection&, Draw&)> ask;  // entries found
  std::function<AffectedQuery(Draw&)> query;                   // of those whose plan is shown
};

// By the trees that have a part, as the service does.
Result<AnyOf> treesOf(Connection& connection, const std::string& part) {
  KILN_ASSIGN(const auto trees, treesWithPart(connection, "default", part, 256));
  AnyOf out;
  for (const Digest& tree : trees) out.push_back({MentionKind::kToolchain, tree});
  return out;
}

Question affected(std::string name, std::function<AffectedQuery(Draw&)> query) {
  return {std::move(name),
          [query](Connection& connection, Draw& draw) -> Result<std::size_t> {
            AffectedQuery asked = query(draw);
            asked.instance = "default";
            KILN_ASSIGN(const auto page, findAffected(connection, asked, kPage));
            return page.entries.size();
          },
          query};
}

Question byPart(std::string name, std::function<std::string(Draw&)> part,
                std::function<void(Draw&, AffectedQuery&)> more) {
  return {std::move(name),
          [=](Connection& connection, Draw& draw) -> Result<std::size_t> {
            AffectedQuery asked{.instance = "default"};
            KILN_ASSIGN(auto trees, treesOf(connection, part(draw)));
            asked.all.push_back(std::move(trees));
            if (more) more(draw, asked);
            KILN_ASSIGN(const auto page, findAffected(connection, asked, kPage));
            return page.entries.size();
          },
          {}};
}

std::vector<Question> questions() {
  const auto one = [](AnyOf (Draw::*what)()) {
    return [what](Draw& draw) { return AffectedQuery{.all = {(draw.*what)()}}; };
  };
  const auto two = [](AnyOf (Draw::*a)(), AnyOf (Draw::*b)()) {
    return [a, b](Draw& draw) { return AffectedQuery{.all = {(draw.*a)(), (draw.*b)()}}; };
  };
  const auto within = [](AnyOf (Draw::*what)()) {
    return [what](Draw& draw) {
      AffectedQuery query{.all = {(draw.*what)()}};
      draw.window(query);
      return query;
    };
  };
  const auto ptxas = [](Draw& draw) {
    return digestNamed("ptxas " + std::to_string(draw.below(kPtxas))).text();
  };
  const auto libc = [](Draw&) { return digestNamed("libc").text(); };
  return {
      affected("toolchain", one(&Draw::tree)),
      byPart("component: a ptxas digest (4 toolchains)", ptxas, {}),
      byPart("component: libc, by name (40 toolchains)", [](Draw&) { return std::string("libc"); }, {}),
      affected("source: digest", one(&Draw::model)),
      affected("source: digest of a popular model", one(&Draw::popularModel)),
      affected("source: repository", one(&Draw::repository)),
      affected("source: commit", one(&Draw::commit)),
      affected("worker", one(&Draw::worker)),
      affected("operator", one(&Draw::operatorName)),
      affected("key", one(&Draw::key)),
      affected("target", one(&Draw::target)),
      affected(
          "artifact",
          [](Draw& draw) { return AffectedQuery{.all = {{{MentionKind::kArtifact, draw.artifact()}}}}; }),
      affected("window",
               [](Draw& draw) {
                 AffectedQuery query;
                 draw.window(query);
                 return query;
               }),
      affected("worker + window", within(&Draw::worker)),
      affected("key + window", within(&Draw::key)),
      affected("toolchain + worker", two(&Draw::tree, &Draw::worker)),
      affected("toolchain + operator", two(&Draw::tree, &Draw::operatorName)),
      affected("popular model + operator", two(&Draw::popularModel, &Draw::operatorName)),
      affected("key + repository", two(&Draw::key, &Draw::repository)),
      affected("worker + another worker", two(&Draw::worker, &Draw::worker)),
      affected("target + operator + window",
               [](Draw& draw) {
                 AffectedQuery query{.all = {draw.target(), draw.operatorName()}};
                 draw.window(query);
                 return query;
               }),
      byPart("ptxas digest + operator + target", ptxas,
             [](Draw& draw, AffectedQuery& query) {
               query.all.push_back(draw.operatorName());
               query.all.push_back(draw.target());
             }),
      byPart("libc + popular model + worker + key + target + window", libc,
             [](Draw& draw, AffectedQuery& query) {
               query.all.insert(query.all.end(),
                                {draw.popularModel(), draw.worker(), draw.key(), draw.target()});
               draw.window(query);
             }),
      {"provenance of an artifact, with parts and admissions",
       [](Connection& connection, Draw& draw) -> Result<std::size_t> {
         const Digest artifact = draw.artifact();
         KILN_ASSIGN(const auto found, loadArtifact(connection, "default", artifact));
         KILN_ASSIGN(const auto statements, listStatementsOf(connection, "default", artifact, {}, kPage));
         KILN_TRY(listParts(connection, "default", found->toolchain));
         KILN_TRY(listAdmissions(connection, "default", {found->toolchain}));
         return statements.size();
       },
       {}},
      {"who submitted an artifact",
       [](Connection& connection, Draw& draw) -> Result<std::size_t> {
         KILN_ASSIGN(const auto found, listSubmissions(connection, "default", draw.artifact(), "", kPage));
         return found.size();
       },
       {}},
  };
}

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

Status showPlan(Connection& connection, AffectedQuery query) {
  query.instance = "default";
  const auto lists = postingsOf(query.all);
  for (const BoundSql& sql : {surveySql(query, lists, 500), candidatesSql(query, lists, 128)}) {
    KILN_ASSIGN(auto rows, connection.execute("EXPLAIN (COSTS OFF) " + sql.sql, sql.params));
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
  if (options.plans && question.query) KILN_TRY(showPlan(connection, question.query(draw)));
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
  return {};
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
