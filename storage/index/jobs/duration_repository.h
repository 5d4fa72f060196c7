// How long runs took, for what to expect of others like them. Of an instance's own runs only. Hints: nothing
// that is signed depends on them.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "storage/index/rows/records.h"
#include "storage/postgres/connection.h"

namespace kiln::index {

// For each of them, in their order, what the newest records say: those of its own subject, else those of its
// magnitude; nothing where there are neither.
Result<std::vector<std::optional<Expectation>>> expectationsOf(postgres::Connection& connection,
                                                               const std::string& instance,
                                                               const std::vector<WorkKind>& works);

// Counts a run that has ended well after so many seconds. Where another transaction counts at this moment,
// one of the two counts: nobody waits.
Status recordDuration(postgres::Connection& connection, const RunRecord& run, double seconds);

}  // namespace kiln::index
