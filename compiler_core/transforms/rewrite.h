// The rewrite stage: every pass on the graph level, in order, with evidence.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "compiler_core/ir/evidence.h"
#include "compiler_core/ir/ir.h"
#include "compiler_core/ir/weight_table.h"
#include "manifest/base/result.h"

namespace kiln::transforms {

struct RewriteOptions {
  std::vector<std::string> disabled;  // names of passes that are left out, everywhere they stand
  std::function<void(std::string_view pass, double seconds)>
      onPass;                            // after each pass; for people, not for evidence
  std::vector<std::string> otherPasses;  // of later stages, to name beside these when `disabled` is wrong
  std::string spool;       // existing folder for large constants, while the table is there; "": memory
  bool quantised = false;  // Numerics::precision is "int8"
  bool byteDots = false;   // the target multiplies unsigned by signed bytes
};

// Rewrites `module` in place; new constants are appended to `weights`. Results stay what the reference
// evaluator computes up to rounding. kInternal: a pass failed; the message has MLIR's diagnostics.
// kFailedPrecondition: no pass has a name that `disabled` holds. Deterministic.
Result<ir::RewriteEvidence> rewrite(mlir::ModuleOp module, ir::WeightTable& weights,
                                    const RewriteOptions& options = {});

}  // namespace kiln::transforms
