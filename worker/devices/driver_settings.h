// The variables of the worker's environment that set a driver up, in the probe and in the sandbox of an
// action alike, so that both count the same devices. Nothing else of that environment reaches a driver.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace kiln::devices {

// CUDA_VISIBLE_DEVICES and CUDA_DEVICE_ORDER; which drivers a Vulkan loader takes (VK_DRIVER_FILES,
// VK_ICD_FILENAMES, VK_LOADER_DRIVERS_SELECT, VK_LOADER_DRIVERS_DISABLE; MESA_VK_DEVICE_SELECT, by which Mesa
// orders devices), and how many threads lavapipe has (LP_NUM_THREADS); what sets an emulated device up
// (KILN_EMULATED_*): as far as this process has them.
std::vector<std::pair<std::string, std::string>> driverSettings();

}  // namespace kiln::devices
