// Constant folding while a graph is being built: shape computations (Shape, Gather, Concat, ...) end as
// constants, so that Reshape and its kind find their shapes.
#pragma once

#include "compiler_core/reference/evaluator.h"

namespace kiln::analysis {

// A constant of the dialect for `tensor`; a splat if all elements have the same bits. Only for at most
// ir::kMaxConstantBytes or splats.
mlir::DenseElementsAttr toElements(mlir::MLIRContext* context, const reference::HostTensor& tensor);
// From raw bytes: all elements, or one for a splat.
mlir::DenseElementsAttr toElements(mlir::MLIRContext* context, DType dtype,
                                   llvm::ArrayRef<std::int64_t> shape, Bytes bytes);

// Whether all elements have the same bits (true for one element, false for none).
bool isSplat(Bytes bytes, std::size_t width);

// Evaluates `operation` (one result, no regions) if its operands are small kiln.constants and its result is
// small: replaces it by a constant, erases it and returns the constant; null otherwise.
mlir::Value foldSmall(mlir::OpBuilder& builder, mlir::Operation* operation);

}  // namespace kiln::analysis
