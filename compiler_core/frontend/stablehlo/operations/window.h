// Windows that move over a tensor, for the operations that have them.
#pragma once

#include <optional>

#include "compiler_core/frontend/stablehlo/operations/body.h"
#include "compiler_core/frontend/stablehlo/operations/context.h"

namespace kiln::stablehlo {

// One entry for each dimension of the operand.
struct Window {
  Dims sizes, strides, baseDilations, dilations, low, high;

  // How far the first and the last element of a window are apart, and one more.
  std::int64_t span(std::size_t dim) const { return (sizes[dim] - 1) * dilations[dim] + 1; }
  // Windows along a dimension of `extent` that has been padded.
  std::int64_t count(std::size_t dim, std::int64_t extent) const {
    return extent < span(dim) ? 0 : (extent - span(dim)) / strides[dim] + 1;
  }
  // The same of an extent that may be a symbol; kUnimplemented where some sizes have no window.
  Result<Dim> count(OperationContext& op, std::size_t dim, const Dim& extent) const {
    if (extent.isStatic()) return Dim(count(dim, extent.value()));
    KILN_TRY(notBelow(op, extent, span(dim), "a window is larger than its dimension at every size"));
    return *ir::floorDiv(extent - span(dim), strides[dim]) + 1;
  }
};

// From the attributes of the operation; kInvalidArgument where they are none for tensors of this rank.
Result<Window> readWindow(OperationContext& op, std::size_t rank);
// The input with what the window has around it and between its elements.
Result<Value> padded(OperationContext& op, const Window& window, Value input, Value value);

// Along which axis, and in which direction, each window holds all that is before its element.
struct Running {
  std::size_t axis = 0;
  bool isReverse = false;
};
// nullopt: windows of these sizes and this padding, which may be symbols, are others.
std::optional<Running> runningOf(llvm::ArrayRef<Dim> shape, llvm::ArrayRef<Dim> sizes,
                                 llvm::ArrayRef<Dim> low, llvm::ArrayRef<Dim> high);
// A running sum or product; null where the combination is another.
Result<Value> cumulated(OperationContext& op, const Running& running, Combine combine, Value input);

// custom_call @stablehlo.dynamic_reduce_window, as JAX writes a running sum over a dimension whose size is a
// symbol: operand, start value, then the window's sizes, strides, base dilations, dilations and padding; the
// body is the function that called_computations names. Other windows are kUnimplemented.
Result<Values> dynamicReduceWindow(OperationContext& op);

}  // namespace kiln::stablehlo
