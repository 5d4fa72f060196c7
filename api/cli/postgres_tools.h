// PostgreSQL's own programs, for backups.
#pragma once

#include <string>

#include "manifest/base/result.h"

namespace kiln::cli {

// One snapshot of the whole database in pg_dump's custom format. kUnavailable with what the program says.
Status dumpDatabase(const std::string& conninfo, const std::string& path);
// Loads it in one transaction: all of it or nothing, so also nothing into a database that has such tables.
Status loadDatabase(const std::string& conninfo, const std::string& path);

// Whether the database is that of the farm in this directory: it has a farm's tables, and in them the
// checkpoint that the log below `farm` has published. kInvalidArgument if not.
Status checkFarmDatabase(const std::string& conninfo, const std::string& farm);

}  // namespace kiln::cli
