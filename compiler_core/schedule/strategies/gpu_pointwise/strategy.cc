#include "compiler_core/schedule/strategies/gpu_pointwise/strategy.h"

#include "compiler_core/schedule/strategies/contract/device_form.h"
#include "compiler_core/schedule/strategies/gpu_pointwise/pointwise.h"

namespace kiln::schedule {
namespace {

bool emit(mlir::RewriterBase& rewriter, mlir::Operation* op, const BlockThread& thread,
          const GpuOptions& options, const Share& share) {
  auto linalgOp = mlir::dyn_cast<mlir::linalg::LinalgOp>(op);
  if (!linalgOp) return false;
  emitPointwise(rewriter, linalgOp, thread, options, share);
  return true;
}

constexpr DeviceForm kForm = {.emit = emit};

}  // namespace

constexpr Strategy kGpuPointwiseStrategy = {.device = &kForm};

}  // namespace kiln::schedule
