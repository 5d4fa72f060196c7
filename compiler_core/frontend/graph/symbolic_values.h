// Shape computations of a graph, followed where they depend on symbols: what Shape, Gather, Concat, Mul...
// leave of the extents that the profiles know as ranges only.
#pragma once

#include "compiler_core/frontend/graph/size_ranges.h"
#include "compiler_core/ir/dims.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/Value.h"

namespace kiln::frontend {

// Larger tensors are not followed.
inline constexpr std::int64_t kMostFollowed = 1024;

// The elements of an integer or i1 tensor of static shape, row-major, as expressions over symbols; nullopt
// when they depend on values, or on a comparison that the ranges do not decide.
std::optional<ir::Shape> symbolicElements(mlir::Value value);
// The same for a float tensor whose elements are whole numbers, exactly: extents that were cast to floats.
std::optional<ir::Shape> symbolicReals(mlir::Value value);

// a - b of integers of one static shape, element by element, where what only a run gives is the same on both
// sides: the length of a slice that begins anywhere. nullopt where something of it is left.
std::optional<ir::Shape> symbolicDifference(mlir::Value a, mlir::Value b);

// An operation on integers (one result) whose elements are numbers although it reads symbolic extents, such
// as element 2 of the shape [N, 3, 80, 80]: replaces it by a constant, erases it and returns the constant;
// null otherwise.
mlir::Value foldExtents(mlir::OpBuilder& builder, mlir::Operation* operation);

}  // namespace kiln::frontend
