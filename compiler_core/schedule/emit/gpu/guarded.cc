#include "compiler_core/schedule/emit/gpu/guarded.h"

#include "compiler_core/ir/ir.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace kiln::schedule {
namespace {

using namespace mlir;

// The values of a block that differ between its threads.
class ThreadValues {
 public:
  explicit ThreadValues(scf::ForallOp block) {
    for (std::size_t before = ~std::size_t{0}; before != differ_.size();) {
      before = differ_.size();
      block.getBody()->walk<WalkOrder::PreOrder>([&](Operation* op) { visit(op); });
    }
  }
  bool contains(Value value) const { return differ_.contains(value); }
  bool any(ValueRange values) const {
    return llvm::any_of(values, [&](Value value) { return contains(value); });
  }
  // What decides whether and how often the body of `op` runs.
  static ValueRange decides(Operation* op) {
    return isa<scf::ForOp>(op) ? ValueRange(op->getOperands().take_front(3)) : ValueRange(op->getOperands());
  }

 private:
  void visit(Operation* op) {
    if (auto loop = dyn_cast<scf::ForOp>(op)) {
      // Each value that is carried by itself; how often the body runs shows in `decides`.
      if (any(decides(op))) differ_.insert(loop.getInductionVar());
      for (auto [init, argument, result] :
           llvm::zip_equal(loop.getInitArgs(), loop.getRegionIterArgs(), loop.getResults()))
        if (contains(init) || any(decides(op))) {
          differ_.insert(argument);
          differ_.insert(result);
        }
      return;
    }
    // What a load gives may differ only where its address does: threads read the same memory.
    if (isa<gpu::ThreadIdOp, gpu::LaneIdOp>(op) || any(op->getOperands())) {
      differ_.insert_range(op->getResults());
      for (Region& region : op->getRegions())
        for (Block& inner : region) differ_.insert_range(inner.getArguments());
    }
    // What an iteration hands on, or a branch gives.
    if (op->hasTrait<OpTrait::IsTerminator>() && any(op->getOperands())) {
      differ_.insert_range(op->getParentOp()->getResults());
      if (auto loop = dyn_cast<scf::ForOp>(op->getParentOp())) differ_.insert_range(loop.getRegionIterArgs());
    }
  }
  llvm::DenseSet<Value> differ_;
};

// Where `op` stands differs between threads: a branch or loop around it does.
bool isDivergent(Operation* op, scf::ForallOp block, const ThreadValues& values) {
  for (Operation* parent = op->getParentOp(); parent != block; parent = parent->getParentOp())
    if (values.any(ThreadValues::decides(parent))) return true;
  return false;
}

std::optional<ValueRange> storedAt(Operation* op) {
  if (auto store = dyn_cast<memref::StoreOp>(op)) return store.getIndices();
  if (auto store = dyn_cast<vector::StoreOp>(op)) return store.getIndices();
  return std::nullopt;
}

LogicalResult verifyBlock(scf::ForallOp block) {
  const ThreadValues values(block);
  auto result = block.getBody()->walk([&](Operation* op) -> WalkResult {
    if (isa<gpu::BarrierOp>(op))
      return isDivergent(op, block, values)
                 ? op->emitError("a barrier that not all threads of a block reach alike")
                 : WalkResult::advance();
    if (const auto at = storedAt(op)) {
      if (values.any(*at) || isDivergent(op, block, values)) return WalkResult::advance();
      return op->emitError("every thread of a block has the effect of '") << op->getName() << "'";
    }
    if (isa<memref::AllocOp>(op)) {
      if (op->getBlock() == block.getBody()) return WalkResult::advance();
      return op->emitError("a buffer of a block is made inside a loop or branch");
    }
    // Operations with a body are allowed only where the walk goes through them and isDivergent knows them.
    if (isa<memref::LoadOp, vector::LoadOp, scf::ForOp, scf::IfOp, scf::InParallelOp>(op) ||
        (op->getNumRegions() == 0 && isMemoryEffectFree(op)) || isa<NVVM::NVVMDialect>(op->getDialect()))
      return WalkResult::advance();
    return op->emitError("'") << op->getName() << "' has no form for the threads of a device";
  });
  return failure(result.wasInterrupted());
}

}  // namespace

LogicalResult verifyDeviceForm(func::FuncOp function) {
  for (Operation& op : function.front()) {
    if (auto block = dyn_cast<scf::ForallOp>(op)) {
      if (failed(verifyBlock(block))) return failure();
      continue;
    }
    if (isa<memref::AllocOp, memref::DeallocOp, func::ReturnOp>(op) || isMemoryEffectFree(&op)) continue;
    if (auto call = dyn_cast<ir::CallOp>(op))
      return op.emitError("'") << call.getCallee() << "' has no form for devices";
    return op.emitError("'") << op.getName() << "' has no form for devices";
  }
  return success();
}

}  // namespace kiln::schedule
