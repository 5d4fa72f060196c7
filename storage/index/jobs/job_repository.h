// Jobs as stored. Every call runs on the caller's connection, inside its transaction if there is one.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "storage/index/rows/records.h"
#include "storage/postgres/connection.h"

namespace kiln::index {

enum class Lock { kNone, kUpdate };
enum class Evidence { kWithout, kWith };

// Stores the job with its sources, targets, actions and runs. kAlreadyExists if the instance has the
// idempotency key.
Status insertJob(postgres::Connection& connection, const JobSnapshot& snapshot);

// Of a job as it was submitted: JobRecord::trace. "" if there is no such job.
Result<std::string> traceOfJob(postgres::Connection& connection, const JobKey& job);

// Everything about one job; nothing if the instance has none of that id. Without evidence, `results` stays
// empty.
Result<std::optional<JobSnapshot>> loadJob(postgres::Connection& connection, const JobKey& key,
                                           Evidence evidence, Lock lock = Lock::kNone);

struct KeyedRequest {
  JobKey job;
  std::array<std::uint8_t, 32> request{};  // the hash of the request that came with the key
};
Result<std::optional<KeyedRequest>> findByIdempotencyKey(postgres::Connection& connection,
                                                         const std::string& instance, const std::string& key);

// Newest first, up to `limit`; from after the job `before` if it is given (unknown: from the start). Of each
// what a list shows: without its sources, spec and delivery, which may be megabytes, and without results.
// Takes four statements, however many jobs there are.
Result<std::vector<JobSnapshot>> listJobs(postgres::Connection& connection, const std::string& instance,
                                          int limit, const std::string& before);
// Up to `limit` jobs that have not ended, in all instances and in the order of their keys; from after the job
// `after` if it is given.
Result<std::vector<JobKey>> listOpenJobs(postgres::Connection& connection, const std::optional<JobKey>& after,
                                         std::size_t limit);

// Up to `limit` open jobs whose deadline has passed, in all instances, the longest overdue first.
Result<std::vector<JobKey>> listOverdueJobs(postgres::Connection& connection, TimePoint now,
                                            std::size_t limit);

// How many runs of the instance wait for a worker; counts no further than `most`.
Result<int> countQueued(postgres::Connection& connection, const std::string& instance, int most);

}  // namespace kiln::index
