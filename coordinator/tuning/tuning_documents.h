// Kernel plans, tuning records and entries as the farm keeps them.
#pragma once

#include <string>

#include "coordinator/jobs/evidence.h"
#include "manifest/tuning/decided.h"
#include "storage/blob/blob_store.h"
#include "storage/index/rows/records.h"

namespace kiln::service {

// Where an action that tunes has its plan.
inline constexpr char kPlanInput[] = "input/plan/plan.json";

// The plan among these outputs of a kPlan action. kDataLoss or kInvalidArgument if there is none, it cannot
// be read, or a kernel's module is missing.
Result<KernelPlan> readKernelPlan(storage::BlobStore& blobs, const std::string& instance,
                                  const jobs::Outputs& outputs);
Result<KernelPlan> readKernelPlan(storage::BlobStore& blobs, const std::string& instance,
                                  const Digest& digest);
// The record with this digest: well-formed, its choices those of its figures.
Result<TuningRecord> readTuningRecord(storage::BlobStore& blobs, const std::string& instance,
                                      const Digest& digest);
Result<TuningEntries> readTuningEntries(storage::BlobStore& blobs, const std::string& instance,
                                        const Digest& digest);

// The content of a finished kPlan or kTune run, held against what was asked: the plan is for the run's
// target; the record is of the plan that the action had, for this target, and of the kind of device that was
// leased.
Status takeKernelPlan(storage::BlobStore& blobs, const index::RunRecord& run, const jobs::Outputs& outputs);
Status takeTuningRecord(storage::BlobStore& blobs, const index::RunRecord& run, const jobs::Outputs& outputs);

}  // namespace kiln::service
