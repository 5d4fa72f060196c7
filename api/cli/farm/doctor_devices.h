// The devices of this machine, as `kiln doctor` finds them.
#pragma once

#include <string>
#include <vector>

#include "api/cli/farm/doctor_finding.h"

namespace kiln::cli {

// One finding per driver library (CUDA's, or a Vulkan loader): its devices, with the numbers and uuids that
// --device takes, or why there is none. Never one that something is missing: artifacts for devices are built
// anywhere.
std::vector<Finding> checkDevices(const std::vector<std::string>& libraries);

}  // namespace kiln::cli
