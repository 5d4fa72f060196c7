#include "storage/postgres/migrate.h"

#include <fmt/core.h>

#include <charconv>
#include <string_view>

namespace kiln::postgres {
namespace {

constexpr std::int64_t kLockKey = 0x6b696c6e;  // "kiln"; any number that every release uses

constexpr char kTable[] = R"(
CREATE TABLE IF NOT EXISTS schema_version (
  number     integer PRIMARY KEY,
  name       text NOT NULL,
  sha256     text NOT NULL,
  applied_at timestamptz NOT NULL DEFAULT now()
))";

// 0: the migration only adds. Looked for first, since ALTER TABLE waits for whoever reads.
constexpr char kHasRunsFrom[] =
    "SELECT FROM pg_attribute WHERE attrelid = 'schema_version'::regclass AND attname = 'runs_from'";
constexpr char kRunsFrom[] = "ALTER TABLE schema_version ADD COLUMN runs_from integer NOT NULL DEFAULT 0";
constexpr std::string_view kContract = "-- Contract: runs from ";

Status checkNumbers(const std::vector<Migration>& migrations) {
  for (std::size_t i = 0; i < migrations.size(); ++i)
    if (migrations[i].number != static_cast<int>(i) + 1)
      return fail(Code::kInvalidArgument,
                  fmt::format("migrations are numbered from 1 without gaps; number {} is at place {}",
                              migrations[i].number, i + 1));
  return {};
}

struct Applied {
  int number;
  std::string sha256;
  int runsFrom;
};

Status checkApplied(const std::vector<Migration>& migrations, const std::vector<Applied>& applied) {
  int known = static_cast<int>(migrations.size());
  for (const Applied& row : applied) {
    if (row.number > known && row.runsFrom > known)
      return fail(Code::kFailedPrecondition,
                  fmt::format("the database has schema {}, on which releases run that know schema {} or a "
                              "later one; this one knows {}: use a newer release",
                              row.number, row.runsFrom, known));
    if (row.number > known) continue;
    const Migration& ours = migrations[static_cast<std::size_t>(row.number) - 1];
    if (digestOf(ours.sql).hex() != row.sha256)
      return fail(Code::kFailedPrecondition,
                  fmt::format("migration {} ({}) differs from the one that was applied to this database",
                              ours.number, ours.name));
  }
  return {};
}

Status apply(Connection& session, const Migration& migration) {
  KILN_TRY(session.executeScript(migration.sql));
  KILN_ASSIGN(const int oldest, runsFrom(migration));
  KILN_TRY(
      session.execute("INSERT INTO schema_version (number, name, sha256, runs_from) VALUES ($1, $2, $3, $4)",
                      {migration.number, migration.name, digestOf(migration.sql).hex(), oldest}));
  return {};
}

Status applyMissing(Connection& connection, const std::vector<Migration>& migrations) {
  KILN_TRY(connection.executeScript(kTable));
  KILN_ASSIGN(const Rows column, connection.execute(kHasRunsFrom));
  if (column.affected() == 0) KILN_TRY(connection.executeScript(kRunsFrom));
  KILN_ASSIGN(Rows rows,
              connection.execute("SELECT number, sha256, runs_from FROM schema_version ORDER BY number"));
  KILN_ASSIGN(auto applied, rows.map([](const Row& row) {
    return Applied{row.get<int>("number"), row.get<std::string>("sha256"), row.get<int>("runs_from")};
  }));
  KILN_TRY(checkApplied(migrations, applied));
  const int last = applied.empty() ? 0 : applied.back().number;
  return connection.transact([&](Connection& session) -> Status {
    // A large table is rewritten for as long as it takes.
    KILN_TRY(session.executeScript("SET LOCAL statement_timeout = 0"));
    for (const Migration& migration : migrations) {
      if (migration.number <= last) continue;
      if (Status status = apply(session, migration); !status)
        return fail(status.error().in(fmt::format("migration {} ({})", migration.number, migration.name)));
    }
    return {};
  });
}

}  // namespace

Result<int> runsFrom(const Migration& migration) {
  int oldest = 0;
  std::string_view rest = migration.sql;
  for (std::size_t at; (at = rest.find(kContract)) != rest.npos;) {
    rest.remove_prefix(at + kContract.size());
    int said = 0;
    const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), said);
    if (error != std::errc() || oldest != 0 || said < 1 || said > migration.number)
      return fail(Code::kInvalidArgument,
                  fmt::format("migration {} ({}) says {}something else than one schema up to its own",
                              migration.number, migration.name, kContract));
    oldest = said;
  }
  return oldest;
}

Status migrate(Connection& connection, const std::vector<Migration>& migrations) {
  KILN_TRY(checkNumbers(migrations));
  KILN_TRY(connection.execute("SELECT pg_advisory_lock($1::bigint)", {kLockKey}));
  Status status = applyMissing(connection, migrations);
  auto unlocked = connection.execute("SELECT pg_advisory_unlock($1::bigint)", {kLockKey});
  if (status && !unlocked) return fail(unlocked.error());
  return status;
}

}  // namespace kiln::postgres
