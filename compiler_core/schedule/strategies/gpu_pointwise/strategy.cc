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

constexpr DeviceTileRule kTiles[] = {
    {KernelKind::kElementwise,
     "device elementwise",
     {1024, 64, 64},
     1024,
     256,
     "four results per thread along the innermost dimension, so that accesses are coalesced"},
};

constexpr DeviceForm kForm = {.emit = emit};

}  // namespace

constexpr Strategy kGpuPointwiseStrategy = {.deviceTiles = kTiles, .device = &kForm};

}  // namespace kiln::schedule
