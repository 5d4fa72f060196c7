#include "compiler_core/schedule/strategies/gpu_attention/strategy.h"

#include "compiler_core/schedule/strategies/contract/device_form.h"
#include "compiler_core/schedule/strategies/gpu_attention/attention.h"

namespace kiln::schedule {
namespace {

bool emitKernel(mlir::RewriterBase& rewriter, mlir::Operation* op, const GpuOptions& options) {
  auto call = mlir::dyn_cast<ir::CallOp>(op);
  if (!call || call.getCallee() != kDeviceAttention) return false;
  emitAttention(rewriter, call, options);
  return true;
}

// Of attention that is no call of kDeviceAttention but operations of linalg.
constexpr DeviceTileRule kTiles[] = {
    {KernelKind::kAttention,
     "device attention",
     {0, 16, 1},
     1 << 14,
     256,
     "a block keeps the scores of 16 queries; heads and images are independent"},
};

constexpr DeviceForm kForm = {.lower = lowerAttention, .emitKernel = emitKernel};

}  // namespace

constexpr Strategy kGpuAttentionStrategy = {.deviceTiles = kTiles, .device = &kForm};

}  // namespace kiln::schedule
