// The variables of the worker's environment that set a CUDA driver up, in the probe and in the sandbox of an
// action alike, so that both count the same devices. Nothing else of that environment reaches a driver.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace kiln::devices {

// CUDA_VISIBLE_DEVICES, CUDA_DEVICE_ORDER and what sets an emulated device up (KILN_EMULATED_*), as far as
// this process has them.
std::vector<std::pair<std::string, std::string>> driverSettings();

}  // namespace kiln::devices
