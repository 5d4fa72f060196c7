// The logs of the tools of a job's actions, out of the results that were recorded.
#pragma once

#include <vector>

#include "kiln/v1/job.pb.h"
#include "manifest/base/result.h"
#include "storage/index/rows/records.h"

namespace kiln::service {

// The most that one answer holds of a log, and of all logs together: what an answer may have, by far.
inline constexpr std::size_t kMaxOfALog = 64 << 10, kMaxOfAllLogs = 1 << 20;
// What is kept of a tool that ended well.
inline constexpr std::size_t kMaxOfASuccess = 4 << 10;

// In the order in which the actions run, then oldest first; of results of other jobs too, where the cache
// answered. The ends of those that are too long. `snapshot` is loaded with its evidence, `attempts` are the
// job's. kNotFound if nothing has ended, or nothing of the worker, target and attempt that are asked for;
// kInvalidArgument for an attempt below 0; kDataLoss for a result that does not parse.
Result<v1::JobLogs> logsOf(const index::JobSnapshot& snapshot,
                           const std::vector<index::AttemptRecord>& attempts,
                           const v1::GetLogsRequest& request);

}  // namespace kiln::service
