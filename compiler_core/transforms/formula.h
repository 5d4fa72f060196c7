// Small formulas over tensors of one rank, for rewrites that move scales and offsets around products.
#pragma once

#include "compiler_core/ir/dims.h"
#include "compiler_core/ir/ir.h"

namespace kiln::transforms {

// Builds operations in front of another one. What small constants give is calculated at once.
class Formula {
 public:
  explicit Formula(mlir::Operation* before) : b_(before), loc_(before->getLoc()) {}

  // Dimensions are equal or 1; the result has the larger ones.
  mlir::Value binary(ir::BinaryKind kind, mlir::Value x, mlir::Value y);
  mlir::Value cast(mlir::Value x, mlir::Type element);
  mlir::Value bitcast(mlir::Value x, mlir::Type element);
  mlir::Value reshape(mlir::Value x, llvm::ArrayRef<ir::Dim> shape);
  mlir::Value transpose(mlir::Value x, llvm::ArrayRef<std::int64_t> permutation);
  // i32, one element in `rank` dimensions.
  mlir::Value number(std::int64_t value, std::size_t rank);
  mlir::OpBuilder& builder() { return b_; }
  mlir::Location location() const { return loc_; }

 private:
  mlir::Value broadcast(mlir::Value x, llvm::ArrayRef<ir::Dim> shape);
  mlir::Value folded(mlir::Operation* op);

  mlir::OpBuilder b_;
  mlir::Location loc_;
};

ir::Shape shapeOf(mlir::Value value);

// What `value`, of rank `rank`, repeats: a tensor of as many dimensions, 1 where it is repeated as far as
// that can be seen.
mlir::Value repeatedIn(Formula& formula, mlir::Value value);

// The one number that all elements of an integer constant are.
std::optional<std::int64_t> integerOf(mlir::Value value);

}  // namespace kiln::transforms
