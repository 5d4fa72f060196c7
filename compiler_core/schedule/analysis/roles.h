// The roles of the loops of a linalg operation on buffers when it becomes vector code. Private to
// compiler_core/schedule.
#pragma once

#include <optional>

#include "compiler_core/schedule/knobs/schedule.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"

namespace kiln::schedule {

// How an operand moves when the lane loop advances.
enum class Lane {
  kUniform,     // not at all: loaded once and broadcast
  kContiguous,  // by one element: a vector load
  kStrided,     // otherwise: one load per lane
};

struct Roles {
  std::optional<unsigned> lanes;      // the parallel loop along which vectors lie; none: scalar code
  std::optional<unsigned> rows;       // the parallel loop unrolled in registers
  llvm::SmallVector<unsigned> outer;  // other parallel loops, outermost first
  llvm::SmallVector<unsigned>
      reductions;                    // in the order of the operation, which fixes the order of accumulation
  llvm::SmallVector<Lane> operands;  // one per operand of the operation
  std::int64_t width = 1;            // lanes of one register for the widest element type that takes part
};

// The distance in elements between neighbours along loop `dim` of an operand accessed by `map`; null if it is
// not the same everywhere or known at run time only, 0 for scalars.
std::optional<std::int64_t> strideAlong(mlir::AffineMap map, mlir::Type type, unsigned dim);

// The extent of a loop: a number, or the size of a dimension that it runs over, made where the builder
// stands.
mlir::OpFoldResult loopExtent(mlir::OpBuilder& builder, mlir::linalg::LinalgOp op, unsigned loop);

// Null when the operation cannot be emitted as blocks: buffers without strides, a body that reads
// indices or memory, a result that is not a permutation of the parallel loops.
std::optional<Roles> findRoles(mlir::linalg::LinalgOp op, const VectorShape& shape);

}  // namespace kiln::schedule
