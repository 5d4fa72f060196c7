// Whether a check statement says what a worker's receipt proves.
#pragma once

#include "manifest/statement/check_statement.h"
#include "signing/server/closure.h"
#include "signing/server/evidence.h"

namespace kiln::signing {

// kFailedPrecondition unless there is the one valid receipt that `check` names, of its action, worker
// and operator, with exit code 0 and report.json below output/ with the very bytes of the statement's report,
// and the action checks this artifact with the plan named.
Status checkClaim(const Evidence& evidence, const CheckStatement& check, const Closure& closure);

}  // namespace kiln::signing
