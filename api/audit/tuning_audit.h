// Compares what is known of kernels with the records that tuners measured and the statements about these.
#pragma once

#include "api/audit/audit_trust.h"

namespace kiln::audit {

// Reads every page. Errors are of the farm being asked.
Status auditTuning(const Audit& audit, IndexSource& source, int pageSize);

}  // namespace kiln::audit
