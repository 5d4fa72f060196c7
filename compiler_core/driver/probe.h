// Makes the values of a graph visible from outside. Private to this folder.
#pragma once

#include <vector>

#include "compiler_core/driver/compiler.h"
#include "compiler_core/frontend/graph/captured.h"

namespace kiln::driver {

// Adds the results of every operation of @main that calculates (no constants, no weights, nothing inside of
// bodies) to @main's results and to the outputs of `captured`, under names of their own. What is a result
// already stays where it is. One probe per value, in the graph's order, with what it should be for the inputs
// and sizes of `request`. Errors as reference::evaluate.
Result<std::vector<Probe>> probeGraph(const ProbeRequest& request, mlir::ModuleOp module,
                                      frontend::Captured& captured);

}  // namespace kiln::driver
