// The rules about checks on devices.
#pragma once

#include <vector>

#include "signing/policy/evaluate.h"

namespace kiln::signing {

// requireCheck, checks, refuseEmulated, checkDevices. The latest check decides; without requireCheck it is
// only told.
void addCheckRules(const Policy& policy, std::span<const CheckStatement> checks,
                   std::vector<RuleResult>& out);

}  // namespace kiln::signing
