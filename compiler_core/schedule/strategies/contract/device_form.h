// How a strategy writes kernels for devices. Each of these may be null. Private to compiler_core/schedule.
//
// A block of threads makes its operations one after the other; `thread` is one of its threads.
#pragma once

#include <memory>
#include <optional>

#include "compiler_core/schedule/strategies/contract/plan.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"

namespace kiln::schedule {

class Lowering;
struct BlockThread;
struct GpuOptions;
struct Share;

struct DeviceForm {
  // The result of an operation of the kiln dialect as one operation that `emitKernel` takes, which otherwise
  // would become several of linalg; null for operations that the strategy does not compute.
  mlir::Value (*lower)(Lowering& lowering, mlir::Operation* op) = nullptr;
  // Replaces an operation beside all blocks by a mapped loop over blocks of its own, described in
  // kiln.kernel. False for operations that the strategy does not compute: they stay.
  bool (*emitKernel)(mlir::RewriterBase& rewriter, mlir::Operation* op, const GpuOptions& options) = nullptr;
  // What blocks share out of an operation that is none of linalg, at the builder's place; nothing for
  // operations that the strategy does not compute.
  std::optional<mlir::OpFoldResult> (*positions)(mlir::OpBuilder& builder, mlir::Operation* op) = nullptr;
  // Finds what a block makes together with `op`; null for operations that the strategy does not compute.
  std::unique_ptr<Plan> (*plan)(mlir::linalg::LinalgOp op, const BlockThread& thread,
                                const GpuOptions& options) = nullptr;
  // Writes what a block makes of an operation at the builder's place. The operation stays. False, and
  // nothing, for operations that the strategy does not compute.
  bool (*emit)(mlir::RewriterBase& rewriter, mlir::Operation* op, const BlockThread& thread,
               const GpuOptions& options, const Share& share) = nullptr;
};

}  // namespace kiln::schedule
