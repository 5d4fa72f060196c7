// Products whose right factor is a weight: it may lie in the artifact in panels (../package/panels.h), as
// wide as a block of registers, and then no run copies it. Private to compiler_core/schedule.
#pragma once

#include <optional>

#include "compiler_core/schedule/knobs/schedule.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"

namespace kiln::schedule {

// Whether the schedule of a product on tensors may say so: a factor is a weight [steps, columns] that is no
// constant in the code, and its last panel is not much wider than what is left of the columns.
bool mayTakePanels(mlir::linalg::LinalgOp product, const VectorShape& registers);

struct WeightPanels {
  mlir::OpOperand* factor = nullptr;
  mlir::Value panels;        // [panel][step][lane]
  mlir::OpFoldResult first;  // column of the product's first
  std::int64_t lanes = 0;    // of a panel
  bool isAligned = false;    // the first column begins a panel
};

// The weight of a product on buffers whose schedule says so, as an argument of @main in panels. Null where a
// task has one column or one step alone.
std::optional<WeightPanels> findWeightPanels(mlir::OpBuilder& builder, mlir::linalg::LinalgOp product,
                                             const Schedule& schedule, const VectorShape& registers);

}  // namespace kiln::schedule
