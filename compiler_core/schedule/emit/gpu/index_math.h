// Index arithmetic of device code, folded where numbers are known. Private to compiler_core/schedule.
#pragma once

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"

namespace kiln::schedule {

// Writes at the builder's place. Values are of index type and not negative.
class IndexMath {
 public:
  IndexMath(mlir::OpBuilder& builder, mlir::Location loc) : b_(builder), loc_(loc) {}

  mlir::Value number(std::int64_t value) const;
  mlir::Value value(mlir::OpFoldResult size) const;
  mlir::Value add(mlir::Value a, mlir::Value b) const;
  mlir::Value add(mlir::Value a, std::int64_t b) const { return b == 0 ? a : add(a, number(b)); }
  mlir::Value sub(mlir::Value a, mlir::Value b) const;
  mlir::Value mul(mlir::Value a, std::int64_t b) const;
  mlir::Value div(mlir::Value a, std::int64_t b) const;
  mlir::Value rem(mlir::Value a, std::int64_t b) const;
  mlir::Value min(mlir::Value a, mlir::Value b) const;
  mlir::Value less(mlir::Value a, mlir::Value b) const;  // an i1
  mlir::Value less(mlir::Value a, std::int64_t b) const { return less(a, number(b)); }
  // Both where both are given; a null one is true.
  mlir::Value both(mlir::Value a, mlir::Value b) const;

  // The product of extents, a number where all are.
  mlir::OpFoldResult product(llvm::ArrayRef<mlir::OpFoldResult> extents) const;
  // Position `linear` among all points of `extents`, the last fastest: one value per extent.
  llvm::SmallVector<mlir::Value> delinearise(mlir::Value linear,
                                             llvm::ArrayRef<mlir::OpFoldResult> extents) const;

 private:
  mlir::OpBuilder& b_;
  mlir::Location loc_;
};

// What `extent` is at most, from the minimum that made it; nullopt where it does not say.
std::optional<std::int64_t> upperBound(mlir::OpFoldResult extent);
// A number that divides `value` in every iteration; 1 if nothing is known, 0 for zero.
std::int64_t knownDivisor(mlir::Value value);

}  // namespace kiln::schedule
