// A runtime session's counters as the commands show them.
#pragma once

#include "compiler_core/runtime/runtime.h"
#include "manifest/json/json.h"

namespace kiln::cli {

// "CUDA 13.0", "Vulkan 1.3.230 by llvmpipe: Mesa 22.3.6 (LLVM 15.0.6)" of a session with a device.
std::string driverText(const kiln_counters& counters);

Json countersJson(const kiln_counters& counters);

}  // namespace kiln::cli
