// Constants of a program as tensors of the graph.
#pragma once

#include "compiler_core/frontend/dialects/operations/context.h"
#include "compiler_core/ir/weight_table.h"

namespace kiln::dialects {

// A constant or a weight called `name`, made where the builder stands. Elements below a byte and i1 have one
// byte each, i48 and index become i64. kUnimplemented: they are of a type that is not served, or lie in a
// resource that is not in the file. `owner` keeps the attribute alive.
Result<Value> literalValue(mlir::OpBuilder& builder, mlir::Location location, ir::WeightTable& weights,
                           mlir::ElementsAttr elements, const std::string& name,
                           const std::shared_ptr<const void>& owner);

}  // namespace kiln::dialects
