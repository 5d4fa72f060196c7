// The rewrite stage: every pass on the graph level, in order, with evidence.
#pragma once

#include "compiler_core/ir/evidence.h"
#include "compiler_core/ir/ir.h"
#include "compiler_core/ir/weight_table.h"
#include "manifest/base/result.h"

namespace kiln::transforms {

// Rewrites `module` in place; new constants are appended to `weights`. Results stay what the reference
// evaluator computes up to rounding. kInternal: a pass failed; the message has MLIR's diagnostics.
// Deterministic.
Result<ir::RewriteEvidence> rewrite(mlir::ModuleOp module, ir::WeightTable& weights);

}  // namespace kiln::transforms
