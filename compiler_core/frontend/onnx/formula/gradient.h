// Reverse-mode differentiation of operations of the dialect: each operation's rule is operations again, so
// that a gradient can be differentiated itself.
//
// Served: unary and binary arithmetic (pow by its base alone), select, casts between floats, broadcast,
// reshape, transpose, concat, slice, constant padding, gather, running sums, sums, maxima and minima over
// axes, softmax, matmul. Where a function has a kink or a tie: relu at 0 has slope 0, abs too; of two equal
// operands of max and min the first one counts, of several equal elements of a reduced maximum each its
// share. Ceil, floor, round and sign have slope 0.
#pragma once

#include "compiler_core/frontend/onnx/graph/names.h"

namespace kiln::onnx {

// The gradients of the sum of y's elements with respect to each of `variables`, of their types: floats that
// were made in the block where `build` appends. Zero where y does not depend on one. kUnimplemented names an
// operation on the way that has no rule, and its node.
// `charge` is told how many operations are differentiated, before that is done; its error ends it.
Result<Values> gradients(GraphBuilder& build, Value y, llvm::ArrayRef<Value> variables,
                         llvm::function_ref<Status(std::int64_t)> charge);

}  // namespace kiln::onnx
