// Whether a reproduction statement of the farm says what a worker's receipt proves.
#pragma once

#include "manifest/statement/reproduction.h"
#include "signing/server/closure.h"
#include "signing/server/evidence.h"

namespace kiln::signing {

// kFailedPrecondition unless there is the one valid receipt that `again` names, of its worker,
// operator, action and sandbox policy, with exit code 0 and the artifact's files among the outputs, and the
// action is the compile of the artifact's spec. What no receipt proves here, fixtures and absent files, is
// refused.
Status checkReproduction(const Evidence& evidence, const Reproduction& again, const Closure& closure);

}  // namespace kiln::signing
