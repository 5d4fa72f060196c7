// Whether a symbolic dimension may be padded with zeros: run at a larger extent, with the results cut back.
#pragma once

#include <optional>
#include <string>

#include "compiler_core/ir/ir.h"

namespace kiln::analysis {

// Null when every operation treats the positions along symbol number `symbol` as rows that do not see each
// other, like a batch; else the reason, with the node.
std::optional<std::string> whyNotPadded(mlir::ModuleOp module, unsigned symbol);

}  // namespace kiln::analysis
