// What a third party can say of an artifact.
#pragma once

#include "manifest/statement/statement.h"

namespace kiln {

// kInvalidArgument for what only the farm that made the artifact can say, and for a predicate of a type that
// verifiers of Kiln read where they would refuse it: malformed, or a summary of another artifact. Any other
// type is its author's.
Status checkThirdParty(const Statement& statement);

}  // namespace kiln
