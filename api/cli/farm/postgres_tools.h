// PostgreSQL's own programs, for backups.
#pragma once

#include <string>

#include "manifest/base/result.h"

namespace kiln::cli {

// Errors say what the program says. kUnavailable if it or the server is not there; what else is in the way is
// told by its own code.

// One snapshot of the whole database in pg_dump's custom format.
Status dumpDatabase(const std::string& conninfo, const std::string& path);
// Loads it in one transaction: all of it or nothing.
Status loadDatabase(const std::string& conninfo, const std::string& path);
// The rows that a dump holds of a table, as a COPY statement in the new file `to`; none if it has no such
// table. kDataLoss if it is no dump.
Status extractTable(const std::string& dump, const std::string& table, const std::string& to);

// kAlreadyExists if the database has tables.
Status checkEmptyDatabase(const std::string& conninfo);

// Whether the database is that of the farm in this directory: it has a farm's tables, and in them the
// checkpoint that the log below `farm` has published. kInvalidArgument if not.
Status checkFarmDatabase(const std::string& conninfo, const std::string& farm);

}  // namespace kiln::cli
