// How a strategy writes kernels for processors. Each function may be null. Private to
// compiler_core/schedule.
#pragma once

#include <memory>

#include "compiler_core/schedule/strategies/contract/plan.h"
#include "llvm/ADT/DenseSet.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"

namespace kiln::schedule {

struct BlockOptions;
struct FusedProduct;

struct ProcessorForm {
  // Finds what is written together with `op`, an operation on buffers, without `taken`; null for operations
  // that the strategy does not plan.
  std::unique_ptr<Plan> (*plan)(mlir::linalg::LinalgOp op, const BlockOptions& options,
                                const llvm::DenseSet<mlir::Operation*>& taken) = nullptr;
  // Writes a product on buffers, which may be any operation that has roles, whose schedule (of `options`)
  // chooses the strategy, at the builder's place, and erases its parts. False where the schedule does not, or
  // the product has no such form: they stay.
  bool (*emit)(mlir::RewriterBase& rewriter, const FusedProduct& product,
               const BlockOptions& options) = nullptr;
  // `emit` gets the product with fewer loops, where neighbours are one in memory.
  bool joinsLoops = false;
};

}  // namespace kiln::schedule
