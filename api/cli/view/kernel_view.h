// Measured kernels of a run, with the model's nodes that each computes.
#pragma once

#include <vector>

#include "compiler_core/runtime/kiln_runtime.h"
#include "manifest/artifact/manifest.h"

namespace kiln::cli {

// One line per kernel, the slowest first, and what is left of the runs' time.
void printKernels(const std::vector<kiln_kernel_time>& kernels, const Manifest& manifest,
                  const kiln_counters& counters);

// [{"symbol","nodes","calls","tasks","nanoseconds"}] in the order of first use.
Json kernelsJson(const std::vector<kiln_kernel_time>& kernels, const Manifest& manifest);

}  // namespace kiln::cli
