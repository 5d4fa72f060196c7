// Whether what a backup holds belongs together: its database and the log of the farm.
#pragma once

#include <istream>
#include <string>

#include "manifest/base/result.h"

namespace kiln::cli {

// Of a backup's directory, without a server. kDataLoss if its database is no farm's, or not that of the farm
// whose log it holds; kUnavailable if PostgreSQL's pg_restore is not there. A log that lies elsewhere says
// nothing.
Status checkBackup(const std::string& backup);

// `rows`: of the table log_checkpoints, as pg_restore prints them. `log`: the directory of the log's tiles.
// One of the two may be a little older, since a backup is made while the farm runs: it is then the beginning
// of the other.
Status checkSameLog(std::istream& rows, const std::string& log);

}  // namespace kiln::cli
