// Tries devices out, in a child process (driver_probe.h). Private to this folder.
#pragma once

#include <string>

#include "manifest/base/result.h"

namespace kiln::devices {

// Whether a context can be made on device `ordinal` of a CUDA driver library, memory allocated, and what is
// copied there comes back. kUnavailable, or the driver's error, naming what does not work.
Status tryCudaDevice(const std::string& library, int ordinal);

// The same of a Vulkan loader's device: a logical device, a queue, memory, a copy there and back; and that a
// kernel's results are those that the processor knows.
Status tryVulkanDevice(const std::string& library, int ordinal);

}  // namespace kiln::devices
