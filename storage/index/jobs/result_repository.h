// Builders' results: evidence, kept also when it is of a failure or of a disagreement.
#pragma once

#include <vector>

#include "storage/index/rows/records.h"
#include "storage/postgres/connection.h"
#include "storage/postgres/rows.h"

namespace kiln::index {

// Storing the result of the same lease again changes nothing.
Status insertResult(postgres::Connection& connection, const ResultRecord& result);

// Needs every column of action_results, and action_size.
ResultRecord resultAt(const postgres::Row& row);

// What counts for the job: its own results, and with `reuse` the oldest undisputed success of each worker in
// earlier jobs of the instance, but for tunes: a measurement is no function of its action. Oldest first.
Result<std::vector<ResultRecord>> resultsOfJob(postgres::Connection& connection, const JobKey& key,
                                               bool reuse);
// The job's own leases that have ended, with what they left. In the order in which they were given.
Result<std::vector<AttemptRecord>> attemptsOfJob(postgres::Connection& connection, const JobKey& key);
// The reusable ones for actions of a job that is not stored yet.
Result<std::vector<ResultRecord>> reusableResults(postgres::Connection& connection,
                                                  const std::string& instance,
                                                  const std::vector<Digest>& actions);

// The results of every instance that count, or may come to count, for a job that has not ended, and those
// that were disputed since `disputedSince`. Not those of executions, which are kept as long as whatever was
// uploaded lately.
Result<std::vector<ResultRecord>> protectedResults(postgres::Connection& connection, TimePoint disputedSince);

// None of the action's results counts for later jobs.
Status markDisputed(postgres::Connection& connection, const std::string& instance, const Digest& action);
// These alone: the rest of the action's results stand.
Status markDisputed(postgres::Connection& connection, const std::vector<ResultRecord>& results);

}  // namespace kiln::index
