// Whether an IR statement says what a worker's receipt proves.
#pragma once

#include "manifest/statement/ir_statement.h"
#include "signing/server/closure.h"
#include "signing/server/evidence.h"

namespace kiln::signing {

// kFailedPrecondition unless there is the one valid receipt that `ir` names, of its action, worker and
// operator, with exit code 0, the artifact's files below output/artifact/ and exactly the statement's files
// below output/ir/; these are in the store, and the action is the compile for the IR of the artifact's spec.
Status checkIr(const Evidence& evidence, const IrStatement& ir, const Closure& closure);

}  // namespace kiln::signing
