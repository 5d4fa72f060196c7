// kiln-coordinator check-access: what the access file makes of a token, without a farm.
#pragma once

#include "manifest/base/clock.h"

namespace kiln::access_check {

// The command line from its program's name on, with "check-access" behind it. Prints to stdout who the token
// is of, and each grant for its issuer with what it gives or what the token lacks. The program's exit code: 0
// if some grant gives a role in the instance, 8 if none does or the token is refused, else as in
// manifest/base/exit_code.h.
int checkAccess(int argc, char** argv, const Clock& clock);

}  // namespace kiln::access_check
