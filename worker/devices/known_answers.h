// A kernel whose results the processor knows: what a driver of Vulkan must get right before anything it says
// of an artifact counts. Private to this folder.
#pragma once

#include "compiler_core/runtime/device/vulkan_device.h"

namespace kiln::devices {

// Runs known_answers.spvasm in four blocks. kUnavailable naming the first number that is wrong; the driver's
// error. The module goes the way of an artifact's kernels: checked, bounded, compiled by the driver.
Status checkKnownAnswers(const runtime::VulkanDevice& device);

}  // namespace kiln::devices
