#include "compiler_core/schedule/strategies/gpu_library/strategy.h"

#include "compiler_core/schedule/strategies/contract/device_form.h"
#include "compiler_core/schedule/strategies/gpu_library/library.h"

namespace kiln::schedule {
namespace {

std::optional<mlir::OpFoldResult> positionsOf(mlir::OpBuilder& builder, mlir::Operation* op) {
  auto call = mlir::dyn_cast<ir::CallOp>(op);
  if (!call || !hasThreadForm(call)) return std::nullopt;
  return positions(builder, call);
}

bool emit(mlir::RewriterBase& rewriter, mlir::Operation* op, const BlockThread& thread, const GpuOptions&,
          const Share& share) {
  auto call = mlir::dyn_cast<ir::CallOp>(op);
  if (!call) return false;
  emitCall(rewriter, call, thread, share);
  return true;
}

constexpr DeviceForm kForm = {.positions = positionsOf, .emit = emit};

}  // namespace

constexpr Strategy kGpuLibraryStrategy = {.device = &kForm};

}  // namespace kiln::schedule
