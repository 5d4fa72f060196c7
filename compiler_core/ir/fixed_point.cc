#include "compiler_core/ir/fixed_point.h"

#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

namespace kiln::ir {

llvm::LogicalResult applyToFixedPoint(mlir::Operation* root, mlir::RewritePatternSet patterns) {
  std::int64_t operations = 0;
  root->walk([&](mlir::Operation*) { ++operations; });
  constexpr std::int64_t kRewrites = 1024;  // far more than patterns make of one operation
  mlir::GreedyRewriteConfig config;
  config.setMaxIterations(std::max<std::int64_t>(operations, 10));
  config.setMaxNumRewrites(kRewrites * operations);
  if (succeeded(mlir::applyPatternsGreedily(root, std::move(patterns), config))) return mlir::success();
  return root->emitError("rewriting did not end: its patterns undo each other");
}

}  // namespace kiln::ir
