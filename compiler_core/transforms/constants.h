// Constants in and out of rewrites.
#pragma once

#include <optional>

#include "compiler_core/reference/evaluator.h"

namespace kiln::transforms {

// A constant of at most 1 GiB, or nullopt.
std::optional<reference::HostTensor> readConstant(mlir::Value value, const ir::WeightTable& weights);

// `tensor` as a kiln.constant if it is small or a splat, else as a new entry of the table called `name`;
// large ones go to `spool` (ir/spooled_weight.h).
mlir::Value makeConstant(mlir::OpBuilder& builder, mlir::Location location, reference::HostTensor tensor,
                         ir::WeightTable& weights, std::string name, const std::string& spool = {});

// The table's name for a constant value, "" for others.
std::string weightName(mlir::Value value, const ir::WeightTable& weights);

}  // namespace kiln::transforms
