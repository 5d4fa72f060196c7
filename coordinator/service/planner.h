// From resolved sources to the job's actions, and from what earlier jobs left to what need not run again.
#pragma once

#include <string>
#include <vector>

#include "coordinator/jobs/next_step.h"
#include "coordinator/jobs/submission.h"
#include "coordinator/service/farm.h"
#include "storage/blob/upload.h"
#include "storage/index/records.h"

namespace kiln::service {

struct Plan {
  std::vector<index::ActionRecord> actions;  // the reference, then one compile per target
  std::vector<storage::UploadItem>
      blobs;  // what the actions consist of, beside the sources and the toolchain
};

// Pure. Every source of the snapshot must have its blob.
Result<Plan> planActions(const index::JobSnapshot& snapshot, const CompileSpec& options);

// Adds to the snapshot, whose actions are planned, the results of earlier jobs, and to its targets the
// artifacts that are published, complete in the CAS, and already have a statement with these sources and this
// many builders. Earlier results whose bytes are gone clear `reuse` instead. Reads the index; for a job that
// is not stored yet.
Status reuseEarlierWork(const Farm& farm, postgres::Connection& connection,
                        const index::ToolchainRecord& toolchain, const CompileSpec& options,
                        const DeliverySpec& delivery, index::JobSnapshot& snapshot);

// True if every output of these results is in the CAS.
Result<bool> outputsArePresent(const Farm& farm, const std::string& instance,
                               const std::vector<index::ResultRecord>& results);

// A queued run for each that is wanted.
std::vector<index::RunRecord> makeRuns(const index::JobSnapshot& snapshot, const DeliverySpec& delivery,
                                       const std::vector<jobs::NewRun>& wanted, TimePoint now);

// 128 random bits in hex behind the time in milliseconds: sorts by age, cannot be guessed.
std::string newId(TimePoint now);

}  // namespace kiln::service
