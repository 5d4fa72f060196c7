// Products whose right factor is a weight: it may lie in the artifact in panels (../package/panels.h), as
// wide as a block of registers, and then no run copies it. Private to compiler_core/schedule.
#pragma once

#include <optional>

#include "compiler_core/schedule/knobs/schedule.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"

namespace kiln::schedule {

// Whether the schedule of a product on tensors may say so: an operand is a weight [steps..., columns] that is
// no constant in the code, and its last panel is not much wider than what is left of the columns.
bool mayTakePanels(mlir::linalg::LinalgOp product, const VectorShape& registers);

struct WeightPanels {
  mlir::OpOperand* factor = nullptr;
  mlir::Value panels;                          // [panel][row][lane]
  mlir::OpFoldResult first;                    // column of the product's first
  std::int64_t lanes = 0;                      // of a panel
  bool isAligned = false;                      // the first column begins a panel
  llvm::SmallVector<std::int64_t> rowSteps{};  // rows that a step of each of the sum's loops moves
};

// The weights of a product on buffers whose schedule says so, as arguments of @main in panels: its factor,
// and of a packed one scales and zero points as well. All have panels of one width and begin at one column.
// None of what has one column or one row alone.
llvm::SmallVector<WeightPanels> findWeightPanels(mlir::OpBuilder& builder, mlir::linalg::LinalgOp product,
                                                 const Schedule& schedule, const VectorShape& registers);

}  // namespace kiln::schedule
