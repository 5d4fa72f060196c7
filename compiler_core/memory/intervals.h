// Interval analysis of a program's index values, from the ranges of its symbols: how large a buffer can get.
// Private to compiler_core/memory.
#pragma once

#include "compiler_core/ir/dims.h"
#include "mlir/IR/Value.h"

namespace kiln::memory {

class Intervals {
 public:
  // `symbols`: of the function that holds the values.
  explicit Intervals(llvm::ArrayRef<ir::Range> symbols) : symbols_(symbols) {}

  // Both ends included; nullopt where nothing bounds the value.
  std::optional<ir::Range> of(mlir::Value value);
  // An upper bound of a buffer's elements, for each dimension by itself.
  std::optional<std::int64_t> extent(mlir::Value buffer, unsigned dim);

 private:
  std::optional<ir::Range> find(mlir::Value value);
  std::optional<ir::Range> argument(mlir::BlockArgument argument);
  std::optional<ir::Range> dimension(mlir::Value buffer, unsigned dim);

  llvm::ArrayRef<ir::Range> symbols_;
  llvm::DenseMap<mlir::Value, std::optional<ir::Range>> known_;
};

}  // namespace kiln::memory
