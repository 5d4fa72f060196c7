// The ways in which a structured operation is imported that are more than element by element.
#pragma once

#include "compiler_core/frontend/dialects/linalg/loops.h"

namespace kiln::dialects::linalg {

// A sum of products of two inputs as a product of matrices; nullopt where it is none.
Result<std::optional<Value>> contraction(OperationContext& op, mlir::linalg::LinalgOp operation,
                                         const Loops& loops);

// A convolution or a pooling.
Result<Values> windowed(OperationContext& op, mlir::linalg::LinalgOp operation, const Loops& loops);

// The two factors of a sum of products as elements of the sum, each in its own shape: with casts done and
// zero points taken off. nullopt where the body is none of that kind.
struct Factors {
  Value lhs, rhs;
};
Result<std::optional<Factors>> factorsOf(OperationContext& op, mlir::linalg::LinalgOp operation);

}  // namespace kiln::dialects::linalg
