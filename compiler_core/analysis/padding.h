// Whether a symbolic dimension may be padded with zeros: run at a larger extent, with the results cut back.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "compiler_core/ir/ir.h"

namespace kiln::analysis {

// For each of the first `count` symbols: null when every operation treats the positions along it as rows that
// do not see each other, like a batch; else the reason, with the node.
std::vector<std::optional<std::string>> whyNotPadded(mlir::ModuleOp module, unsigned count);

}  // namespace kiln::analysis
