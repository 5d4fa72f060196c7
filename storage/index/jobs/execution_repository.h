// Executions of foreign actions: jobs with one action of kExecute. Nothing here is evidence of an artifact.
#pragma once

#include <string>
#include <vector>

#include "storage/index/rows/records.h"
#include "storage/postgres/connection.h"

namespace kiln::index {

// What belongs to a job that is being inserted.
Status insertExecution(postgres::Connection& connection, const JobKey& key, const ExecutionRecord& execution);

// The result that counts for the execution, at most one: its own, whatever its tool ended with; else, if it
// may take others', the oldest undisputed success of an equal execution that came since it was submitted.
// What was there before was looked at then.
Result<std::vector<ResultRecord>> resultOfExecution(postgres::Connection& connection,
                                                    const JobSnapshot& snapshot);

// The newest undisputed successes of the client's action that may answer later calls; at most `limit`.
Result<std::vector<ResultRecord>> cachedExecutions(postgres::Connection& connection,
                                                   const std::string& instance, const Digest& action,
                                                   int limit);

// Somebody waits for it now. Says nothing to who watches the job.
Status keepWatched(postgres::Connection& connection, const JobKey& key, TimePoint now);
// When somebody last waited for the open execution, or for an open one of the same action: they may have one
// run between them.
Result<TimePoint> lastWatched(postgres::Connection& connection, const JobRecord& job);

// Deletes executions that ended before then, with their runs, attempts and results; at most `limit`. How many
// they were.
Result<std::size_t> forgetExecutions(postgres::Connection& connection, TimePoint before, int limit);

}  // namespace kiln::index
