// PostgreSQL's own programs, for backups.
#pragma once

#include <string>

#include "manifest/base/result.h"

namespace kiln::cli {

// One snapshot of the whole database in pg_dump's custom format. kUnavailable with what the program says.
Status dumpDatabase(const std::string& conninfo, const std::string& path);
// Loads it in one transaction: all of it or nothing, so also nothing into a database that has such tables.
Status loadDatabase(const std::string& conninfo, const std::string& path);

}  // namespace kiln::cli
