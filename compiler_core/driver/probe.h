// Makes the values of a graph visible from outside. Private to this folder.
#pragma once

#include "compiler_core/driver/compiler.h"

namespace mlir {
class ModuleOp;
}

namespace kiln::driver {

// Adds the results of every operation of @main that calculates (no constants, no weights, nothing inside of
// bodies) to @main's results and to `outputs`, under names of their own. What is a result already stays where
// it is. One probe per value, in the graph's order, without its expected value.
std::vector<Probe> expose(mlir::ModuleOp module, std::vector<ir::Signature>& outputs);

}  // namespace kiln::driver
