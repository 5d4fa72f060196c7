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

constexpr DeviceForm kForm = {.emitKernel = emitKernel};

}  // namespace

constexpr Strategy kGpuAttentionStrategy = {.device = &kForm};

}  // namespace kiln::schedule
