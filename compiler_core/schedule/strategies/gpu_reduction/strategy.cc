#include "compiler_core/schedule/strategies/gpu_reduction/strategy.h"

#include "compiler_core/schedule/strategies/contract/device_form.h"
#include "compiler_core/schedule/strategies/gpu_reduction/shared_reduction.h"

namespace kiln::schedule {
namespace {

// Only what one block makes: parts of a result never lie in several.
bool emit(mlir::RewriterBase& rewriter, mlir::Operation* op, const BlockThread& thread,
          const GpuOptions& options, const Share& share) {
  auto reduction = mlir::dyn_cast<mlir::linalg::LinalgOp>(op);
  return reduction && !share.first && emitSharedReduction(rewriter, reduction, thread, options);
}

constexpr DeviceTileRule kTiles[] = {
    {KernelKind::kReduction,
     "device rows",
     {4096, 64, 64},
     4096,
     256,
     "rows that several operations share stay in shared memory, some 4096 results per block"},
};

constexpr DeviceForm kForm = {.emit = emit};

}  // namespace

constexpr Strategy kGpuReductionStrategy = {.deviceTiles = kTiles, .device = &kForm};

}  // namespace kiln::schedule
