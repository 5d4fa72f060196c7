// What a job's runs are compared with earlier ones by.
#pragma once

#include "storage/index/rows/records.h"

namespace kiln::jobs {

// Of one of the job's actions, as far as its sources are known.
index::Subject subjectOf(const index::JobSnapshot& snapshot, const index::ActionRecord& action);

}  // namespace kiln::jobs
