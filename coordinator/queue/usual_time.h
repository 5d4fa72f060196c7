// How long runs take here, for who estimates what the queue holds.
#pragma once

#include <map>

#include "manifest/base/clock.h"
#include "storage/index/rows/records.h"
#include "storage/postgres/connection.h"

namespace kiln::queue {

// By kind: what a lease took on average, from when it was given to its result, of the last thousand of the
// farm that ended with one. A kind of which none did is not there. It reads that many rows, whatever there
// is.
Result<std::map<index::ActionKind, Duration>> usualTimes(postgres::Connection& connection);

}  // namespace kiln::queue
