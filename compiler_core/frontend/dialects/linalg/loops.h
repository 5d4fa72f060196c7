// What a structured operation of linalg iterates over: its loops, and where its operands lie in them.
#pragma once

#include "compiler_core/frontend/dialects/operations/context.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"

namespace kiln::dialects::linalg {

// One dimension of an operand: loop `loop`, or, in a window, loop * stride + window * dilation. A loop of -1
// is the constant 0: the dimension has one element.
struct Place {
  std::int64_t loop = -1, stride = 1;
  std::int64_t window = -1, dilation = 1;
  bool isWindow() const { return window >= 0; }
};
using Places = llvm::SmallVector<Place>;

struct Loops {
  llvm::SmallVector<bool> isReduced;  // by loop
  Shape extents;                      // by loop
  std::vector<Places> operands;       // by operand, inputs first
  std::size_t inputs = 0;
  bool hasWindows = false;

  std::size_t count() const { return isReduced.size(); }
  // The place of loop `loop` in an operand; -1 where it is not there.
  std::int64_t find(std::size_t operand, std::int64_t loop) const;
};

// kUnimplemented: the operation works on memory, or has maps of other kinds.
Result<Loops> loopsOf(OperationContext& op, mlir::linalg::LinalgOp operation);

// The operand with its dimensions as the loops are, 1 where a loop is none of its own.
Result<Value> inSpace(OperationContext& op, Value operand, const Places& places, const Loops& loops);
// The other way: `result` has all loops in `order`, and is wanted as the operand lies.
Result<Value> fromSpace(OperationContext& op, Value result, llvm::ArrayRef<std::int64_t> order,
                        const Places& places);

// How a body combines what it calculates with what it is given of a result.
struct Combiner {
  ir::ReduceKind kind;
  bool isUnsigned = false;
  bool ignoresNan = false;
};
// kUnimplemented where a body of one result does anything else with it.
Result<Combiner> combinerOf(mlir::linalg::LinalgOp operation);
// The value that changes nothing, for the element type.
Value neutral(OperationContext& op, const Combiner& combiner, mlir::Type element);
Result<Value> combine(OperationContext& op, const Combiner& combiner, Value a, Value b);
Result<Value> reduce(OperationContext& op, const Combiner& combiner, Value value, const Dims& axes);
// `result` combined with the operand that the operation starts from, unless that changes nothing.
Result<Value> startingFrom(OperationContext& op, const Combiner& combiner, Value start, Value result);

// What the body calculates of inputs that lie in the space, with neutral values for results.
Result<Value> calculated(OperationContext& op, mlir::linalg::LinalgOp operation, const Values& inputs,
                         const Combiner& combiner, const Shape& space);

}  // namespace kiln::dialects::linalg
