// The roles of a contraction's loops: which operand each moves, and how the operands' elements become the
// factors of the product. Private to compiler_core/schedule.
#pragma once

#include <optional>

#include "mlir/Dialect/Linalg/IR/Linalg.h"

namespace kiln::schedule {

// How an operand is stored, where tensor cores take it as it is.
enum class Multiplicand {
  kOther,  // what the processor multiplies by itself
  kF16,    // 16-bit codes
  kBF16,
};

// One operand of the product.
struct Factor {
  mlir::OpOperand* operand = nullptr;
  mlir::Value value;  // in the body: what is multiplied, the block argument or what unpacks it
  Multiplicand multiplicand = Multiplicand::kOther;
  llvm::SmallVector<unsigned> loops;  // parallel loops of this factor and the result alone, outermost first
};

// result[batch, rows, columns] += left[batch, rows, k] * right[batch, k, columns]; each of them any number of
// loops. Neighbouring results lie along the last column loop where there is one.
struct Contraction {
  Factor left, right;
  llvm::SmallVector<unsigned> batch;       // parallel loops of both factors or of none
  llvm::SmallVector<unsigned> reductions;  // in the order of accumulation
};

// The factors alone; null unless the body is a sum of products of its two inputs, each unpacked or as it is.
struct Product {
  mlir::Operation* product = nullptr;  // null for packed dot operands
  mlir::Operation* sum = nullptr;
  mlir::Value factors[2];  // of input 0 and of input 1
};
std::optional<Product> findProduct(mlir::linalg::LinalgOp op);

// Null for what is no contraction on buffers whose result is a permutation of the parallel loops.
std::optional<Contraction> findContraction(mlir::linalg::LinalgOp op);

// `factor` for the element that was loaded: a copy of what stands between it and the block argument.
mlir::Value emitFactor(mlir::OpBuilder& builder, mlir::Location loc, const Factor& factor,
                       mlir::Value element);

}  // namespace kiln::schedule
