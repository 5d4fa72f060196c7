// Schema migrations: numbered SQL files, applied once each and in order.
#pragma once

#include <string>
#include <vector>

#include "storage/postgres/connection.h"

namespace kiln::postgres {

// From a file "0001_jobs.sql": number 1, name "jobs" (kiln_embed_migrations of EmbedMigrations.cmake puts
// them into a program). An applied one never changes.
struct Migration {
  int number = 0;
  std::string name;
  std::string sql;
};

// The oldest schema whose release still runs on that of the migration, where it takes something away: what
// its line "-- Contract: runs from NNNN" says. 0 for one that only adds. kInvalidArgument if it says so twice
// or names none before its own.
Result<int> runsFrom(const Migration& migration);

// Applies what the database lacks, recorded in the table schema_version, in one transaction: a server that
// answers calls meanwhile never meets half a schema. Any number of processes may call it at once: an advisory
// lock lets one go first. kFailedPrecondition if an applied migration differs from ours, or if the database
// has one of a newer release that takes away what ours needs: of those that only add there may be any number.
Status migrate(Connection& connection, const std::vector<Migration>& migrations);

}  // namespace kiln::postgres
