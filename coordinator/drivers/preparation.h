// What a job's statements rest on beside the work that they name: its sources were fetched by somebody, and
// its fixtures, plans and emulated code made.
#pragma once

#include "coordinator/recall/recall_source.h"
#include "manifest/spec/delivery_spec.h"
#include "storage/index/rows/records.h"

namespace kiln::service {

// kPermissionDenied, as of checkCounts(), if any of that was left by workers of whom too few were not
// recalled. Who compiles, measures or checks is judged with the statement that names him.
Status checkPreparation(const RecallSource& recalls, const index::JobSnapshot& snapshot,
                        const DeliverySpec& delivery);

}  // namespace kiln::service
