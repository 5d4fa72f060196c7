// The counts of indices outside their dimension (ir/index_checks.h) while a graph is imported.
#pragma once

#include <string>
#include <vector>

#include "compiler_core/ir/ir.h"
#include "manifest/base/result.h"

namespace kiln::frontend {

struct IndexChecks {
  struct Count {
    std::string node;   // of the model's own graph: that which calls the function or holds the body
    mlir::Value count;  // a scalar i64
  };

  std::string node;           // the one that is being imported
  std::vector<Count> counts;  // of the block that is being built
};

// What the nodes of the model's graph counted, as one more result of @main, which ends with its return
// already. Nothing where there are no counts.
Status addIndexChecks(mlir::OpBuilder& builder, mlir::func::FuncOp main,
                      const std::vector<IndexChecks::Count>& counted);

}  // namespace kiln::frontend
