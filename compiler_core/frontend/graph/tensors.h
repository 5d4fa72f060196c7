// Tensors of a model's files as values.
#pragma once

#include "compiler_core/ir/ir.h"
#include "compiler_core/ir/weight_table.h"

namespace kiln::frontend {

// A small tensor or a splat is a kiln.constant, any other a kiln.weight of `table`. The weight must hold what
// its shape asks for.
mlir::Value addTensor(ir::WeightTable& table, mlir::OpBuilder& builder, mlir::Location location,
                      ir::Weight weight);
// The weight that `value` is; null for any other value.
const ir::Weight* findWeight(const ir::WeightTable& table, mlir::Value value);

}  // namespace kiln::frontend
