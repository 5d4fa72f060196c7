// From resolved sources to the job's actions, and from what earlier jobs left to what need not run again.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "coordinator/jobs/next_step.h"
#include "coordinator/jobs/submission.h"
#include "coordinator/planning/planning.h"
#include "storage/blob/upload.h"
#include "storage/index/rows/records.h"

namespace kiln::service {

struct Plan {
  // The reference, then one compile per target, with the one for an emulated device where the check wants it
  // and the one for the IR where that is kept;
  // where tuning is wanted, each target's kernel plan in their place.
  std::vector<index::ActionRecord> actions;
  std::vector<storage::UploadItem>
      blobs;  // what the actions consist of, beside the sources and the toolchain
};

// Pure. Every source of the snapshot must have its blob.
Result<Plan> planActions(const index::JobSnapshot& snapshot, const CompileSpec& submitted,
                         const DeliverySpec& delivery);

// The compile of one target, with the one for an emulated device where the check wants it and the one for the
// IR where that is kept.
Status planCompile(const CompileSpec& spec, const DeliverySpec& delivery, Plan& plan);

// Gives the targets of a job that is not stored yet, but planned, the artifacts that are published, complete
// in the CAS, and prove that they are what is asked for (provenBuilders()).
Status reuseArtifacts(const Planning& planning, postgres::Connection& connection,
                      const index::ToolchainRecord& toolchain, const jobs::Submission& submission,
                      index::JobSnapshot& snapshot);

// Adds the results of earlier jobs that their receipts prove to such a job; if bytes of theirs are gone, it
// clears `reuse` instead.
Status reuseResults(const Planning& planning, postgres::Connection& connection, index::JobSnapshot& snapshot);

// True if every output of these results is in the CAS.
Result<bool> outputsArePresent(storage::BlobStore& blobs, const std::string& instance,
                               const std::vector<index::ResultRecord>& results);

// Appends actions to the stored job, after `before` with the job as it is now, in one transaction; nothing if
// another coordinator has added some meanwhile.
Status appendActions(
    postgres::Pool& database, const index::JobSnapshot& snapshot,
    const std::vector<index::ActionRecord>& actions,
    const std::function<Status(postgres::Connection&, const index::JobSnapshot& now)>& before = {});

// Uploads what the plan's actions consist of and appends them to the stored job, with `more` in the same
// transaction; nothing if another coordinator has planned meanwhile. Where bytes of earlier results are gone,
// the job builds afresh.
Status storePlan(const Planning& planning, const index::JobSnapshot& snapshot, const Plan& plan,
                 const std::function<Status(postgres::Connection&)>& more);

// A queued run for each that is wanted, without what is expected of it.
std::vector<index::RunRecord> makeRuns(const index::JobSnapshot& snapshot, const DeliverySpec& delivery,
                                       const std::vector<jobs::NewRun>& wanted, TimePoint now);

// 128 random bits in hex behind the time in milliseconds: sorts by age, cannot be guessed.
std::string newId(TimePoint now);

}  // namespace kiln::service
