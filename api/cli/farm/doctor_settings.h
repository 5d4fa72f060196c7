// What the other checks of `kiln doctor` work with, and where each of it came from.
#pragma once

#include <vector>

#include "api/cli/base/context.h"
#include "api/cli/farm/doctor_finding.h"

namespace kiln::cli {

// One finding per setting that is set; a warning for a file that is not there or a secret that others may
// read. What has no origin was filled in from the state folder of the farm.
std::vector<Finding> checkSettings(const Context& context);

}  // namespace kiln::cli
