// The device besides the processor that a target's program runs on.
#pragma once

#include <string>
#include <string_view>

namespace kiln {

// Whether a part of the target ("a" or "a,b") runs on a device of its own rather than the processor:
// cuda:sm_90a, vulkan:1.3. Nothing is checked.
bool wantsDevice(std::string_view target);
// Whether one target's device is reached through Vulkan: vulkan:1.3, vulkan:1.3+f16.
bool isVulkan(std::string_view target);

// Whether a farm's search measures kernels for the target: those of processors, and those for Vulkan of a
// target that names it. Kernels for CUDA are measured by hand (kiln-cc tune).
bool isSearched(std::string_view target);

// Whether a device that serves this version of Vulkan executes programs for `target`: vulkan:1.3 on 1.3 and
// later versions of 1. False for anything but one vulkan: target without features.
bool runsOnVulkan(std::string_view target, int major, int minor);

// Whether a GPU of this compute capability executes programs for `target`: cuda:sm_80 runs on 8.0 and above
// within 8, the architecture-specific cuda:sm_90a on 9.0 alone. False for anything but one cuda: target.
bool runsOnGpu(std::string_view target, int major, int minor);

}  // namespace kiln
