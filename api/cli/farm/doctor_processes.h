// The processes of a farm that infra/up started, as its supervisor (infra/lib/supervisor.py) keeps them.
#pragma once

#include <string>
#include <vector>

#include "api/cli/farm/doctor_finding.h"

namespace kiln::cli {

// Finds the processes of the farm in directory `farm`; none where no supervisor ever ran.
std::vector<Finding> supervisedProcesses(const std::string& farm);

}  // namespace kiln::cli
