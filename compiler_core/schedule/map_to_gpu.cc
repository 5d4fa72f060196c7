#include <limits>

#include "compiler_core/ir/attributes.h"
#include "compiler_core/ir/types.h"
#include "compiler_core/schedule/analysis/extents.h"
#include "compiler_core/schedule/analysis/groups.h"
#include "compiler_core/schedule/analysis/kernel_info.h"
#include "compiler_core/schedule/analysis/roles.h"
#include "compiler_core/schedule/choice/gpu_heuristics.h"
#include "compiler_core/schedule/emit/gpu/emit.h"
#include "compiler_core/schedule/emit/gpu/guarded.h"
#include "compiler_core/schedule/passes.h"
#include "compiler_core/schedule/strategies/contract/device_form.h"
#include "compiler_core/schedule/strategies/registry.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Pass/Pass.h"

namespace kiln::schedule {

#define GEN_PASS_DECL_MAPTOGPUPASS
#define GEN_PASS_DEF_MAPTOGPUPASS
#include "compiler_core/schedule/passes.h.inc"

namespace {

using namespace mlir;

// Results of an operation, or nothing where only the run knows how many.
std::optional<std::int64_t> pointsOf(linalg::LinalgOp op) {
  SmallVector<unsigned> parallel;
  op.getParallelDims(parallel);
  return staticPositions(op, parallel);
}

// Scalar operations per result.
std::int64_t workOf(linalg::LinalgOp op) {
  double work = static_cast<double>(op.getBlock()->getOperations().size());
  SmallVector<unsigned> reductions;
  op.getReductionDims(reductions);
  const SmallVector<std::int64_t> extents = estimatedExtents(op);
  for (unsigned dim : reductions) work *= static_cast<double>(extents[dim]);
  return static_cast<std::int64_t>(std::min(work, 1e15));
}

class Mapper {
 public:
  Mapper(func::FuncOp function, const DeviceOptions& options)
      : function_(function), options_(options), b_(function.getContext()) {}

  void run() {
    foldFills(function_);
    wrapTopLevel();
    SmallVector<scf::ForallOp> blocks;
    function_.walk<WalkOrder::PreOrder>([&](scf::ForallOp block) {
      blocks.push_back(block);
      return WalkResult::skip();
    });
    for (scf::ForallOp block : blocks) mapBlock(block);
  }

 private:
  // What the calling thread of a CPU does: neighbouring small things become one kernel of one block,
  // everything else a kernel of its own.
  void wrapTopLevel() {
    SmallVector<Operation*> small;
    for (Operation& op : llvm::make_early_inc_range(function_.front())) {
      if (isSmall(&op)) {
        small.push_back(&op);
        continue;
      }
      if (isMemoryEffectFree(&op) || isa<memref::AllocOp, memref::DeallocOp>(op)) continue;
      wrapTogether(small);
      small.clear();
      if (auto linalgOp = dyn_cast<linalg::LinalgOp>(op))
        wrapAlone(linalgOp);
      else
        wrapByStrategy(&op);
    }
    wrapTogether(small);
  }

  GpuOptions gpuOptions() const {
    return {options_.contraction, options_.tf32, options_.tensorCores,
            static_cast<std::int64_t>(options_.sharedBytes)};
  }

  // Nothing where no strategy computes the operation.
  void wrapByStrategy(Operation* op) {
    for (const Strategy* strategy : strategies()) {
      if (!strategy->device) continue;
      const DeviceForm& form = *strategy->device;
      if (form.emitKernel && form.emitKernel(b_, op, gpuOptions())) return;
      if (!form.positions) continue;
      b_.setInsertionPoint(op);
      if (const auto points = form.positions(b_, op)) return wrapAlone(op, *points);
    }
  }

  static constexpr std::int64_t kShort = 4096;  // scalar operations that are not worth more than a warp

  // Done by one block as fast as by many.
  static bool isSmall(Operation* op) {
    constexpr std::int64_t kPoints = 32, kWork = 1 << 14;
    if (isa<memref::StoreOp>(op)) return true;
    auto linalgOp = dyn_cast<linalg::LinalgOp>(op);
    if (!linalgOp) return false;
    const auto points = pointsOf(linalgOp);
    return points && (*points == 1 || (*points <= kPoints && workOf(linalgOp) <= kWork));
  }

  // The schedule of a kernel that kiln-tile did not describe.
  DictionaryAttr describe(ArrayRef<Operation*> ops, StringRef rule, ArrayRef<std::int64_t> loops,
                          std::int64_t results, std::int64_t threads) {
    std::vector<std::string> nodes;
    for (Operation* op : ops) llvm::append_range(nodes, ir::nodeNames(op->getLoc()));
    Schedule schedule;
    setNumber(schedule, kTileKnob, results);
    setNumber(schedule, kThreadsKnob, threads);
    return kernelInfo(b_.getContext(), nodes, rule, loops, schedule);
  }

  scf::ForallOp makeBlocks(Location loc, OpFoldResult count, std::int64_t step, DictionaryAttr info) {
    const OpFoldResult zero = b_.getIndexAttr(0), by = b_.getIndexAttr(step);
    auto block = scf::ForallOp::create(b_, loc, zero, count, by, ValueRange(), std::nullopt);
    ir::KernelAttr::set(block, info);
    return block;
  }

  void wrapTogether(ArrayRef<Operation*> ops) {
    if (ops.empty()) return;
    b_.setInsertionPointAfter(ops.back());
    SmallVector<Location> locations;
    bool isLong = false;
    for (Operation* op : ops) {
      locations.push_back(op->getLoc());
      if (auto linalgOp = dyn_cast<linalg::LinalgOp>(op)) isLong |= workOf(linalgOp) > kShort;
    }
    auto block = makeBlocks(b_.getFusedLoc(locations), b_.getIndexAttr(1), 1,
                            describe(ops, "device single", 1, 1, isLong ? 1024 : 32));
    for (Operation* op : ops) op->moveBefore(block.getBody()->getTerminator());
  }

  void wrapAlone(linalg::LinalgOp op) {
    b_.setInsertionPoint(op);
    OpFoldResult points = b_.getIndexAttr(1);
    SmallVector<unsigned> parallel;
    op.getParallelDims(parallel);
    const AffineExpr d0 = b_.getAffineDimExpr(0), s0 = b_.getAffineSymbolExpr(0);
    for (unsigned dim : parallel)
      points =
          affine::makeComposedFoldedAffineApply(b_, op.getLoc(), d0 * s0, {points, loopExtent(b_, op, dim)});
    auto info = ir::KernelAttr::get(op);
    if (!info) {
      const DeviceShare share = chooseDeviceShare(pointsOf(op).value_or(0), workOf(op));
      info = describe({op.getOperation()}, share.rule, estimatedExtents(op), share.results, share.threads);
    }
    ir::KernelAttr::remove(op);
    distributeOverBlocks(op, points, info);
  }

  // What is none of linalg: each of its lines is long.
  void wrapAlone(Operation* op, OpFoldResult points) {
    const std::int64_t number = getConstantIntValue(points).value_or(0);
    const DeviceShare share = chooseDeviceShare(number, std::numeric_limits<std::int32_t>::max());
    distributeOverBlocks(
        op, points,
        describe({op}, share.rule, std::max<std::int64_t>(1, number), share.results, share.threads));
  }

  void distributeOverBlocks(Operation* op, OpFoldResult points, DictionaryAttr info) {
    if (getConstantIntValue(points) == 0) return b_.eraseOp(op);
    const std::int64_t results = numberOf(scheduleOf(info), kTileKnob, 1);
    auto block = makeBlocks(op->getLoc(), points, results, info);
    op->moveBefore(block.getBody()->getTerminator());
    // One block makes everything: no share of it.
    if (auto number = getConstantIntValue(points); !number || *number > results)
      shares_[op] = {block.getInductionVar(0), results};
  }

  // The phases of a block, with barriers between.
  void mapBlock(scf::ForallOp block) {
    if (!block.getOps<gpu::ThreadIdOp>().empty()) return;  // was written for threads
    const auto info = ir::KernelAttr::get(block);
    const GpuOptions options = gpuOptions();
    const std::int64_t threads = numberOf(scheduleOf(info), kThreadsKnob, 256);
    SmallVector<Operation*> phases;
    for (Operation& op : block.getBody()->without_terminator())
      if (isa<linalg::LinalgOp, ir::CallOp, memref::StoreOp>(op)) phases.push_back(&op);
    b_.setInsertionPointToStart(block.getBody());
    const BlockThread thread{
        gpu::ThreadIdOp::create(b_, block.getLoc(), gpu::Dimension::x, b_.getIndexAttr(threads)), threads};
    // What becomes part of another operation is no phase.
    llvm::DenseMap<Operation*, std::unique_ptr<Plan>> plans;
    llvm::SmallPtrSet<Operation*, 8> absorbed;
    for (Operation* phase : phases)
      if (auto op = dyn_cast<linalg::LinalgOp>(phase); op && !shares_.contains(phase))
        if (auto plan = planOf(op, thread, options)) {
          const SmallVector<Operation*> parts = plan->parts();
          if (llvm::any_of(parts, [&](Operation* part) { return absorbed.contains(part); })) continue;
          absorbed.insert_range(parts);
          plans[phase] = std::move(plan);
        }
    llvm::erase_if(phases, [&](Operation* phase) { return absorbed.contains(phase); });
    for (Operation* phase : phases) {
      b_.setInsertionPoint(phase);
      if (phase != phases.front()) gpu::BarrierOp::create(b_, phase->getLoc());
      if (auto plan = plans.find(phase); plan != plans.end())
        plan->second->emit(b_);
      else if (emitPhase(phase, thread, options))
        b_.eraseOp(phase);
      else
        onOneThread(phase, thread.number);
    }
  }

  static std::unique_ptr<Plan> planOf(linalg::LinalgOp op, const BlockThread& thread,
                                      const GpuOptions& options) {
    for (const Strategy* strategy : strategies())
      if (strategy->device && strategy->device->plan)
        if (auto plan = strategy->device->plan(op, thread, options)) return plan;
    return nullptr;
  }

  bool emitPhase(Operation* phase, const BlockThread& thread, const GpuOptions& options) {
    const Share share = shares_.lookup(phase);
    return llvm::any_of(strategies(), [&](const Strategy* strategy) {
      return strategy->device && strategy->device->emit &&
             strategy->device->emit(b_, phase, thread, options, share);
    });
  }

  void onOneThread(Operation* op, Value thread) {
    const Location loc = op->getLoc();
    Value zero = arith::ConstantIndexOp::create(b_, loc, 0);
    Value first = arith::CmpIOp::create(b_, loc, arith::CmpIPredicate::eq, thread, zero);
    auto guarded = scf::IfOp::create(b_, loc, first);
    op->moveBefore(guarded.thenBlock()->getTerminator());
  }

  func::FuncOp function_;
  const DeviceOptions& options_;
  IRRewriter b_;
  llvm::DenseMap<Operation*, Share> shares_;  // of operations that several blocks make together
};

struct MapToGpuPass : impl::MapToGpuPassBase<MapToGpuPass> {
  explicit MapToGpuPass(DeviceOptions options = {}) : options(std::move(options)) {}

  void runOnOperation() override {
    if (getOperation().isExternal()) return;
    options.tf32 |= tf32;
    Mapper(getOperation(), options).run();
    if (failed(verifyDeviceForm(getOperation()))) signalPassFailure();
  }

  DeviceOptions options;
};

}  // namespace

std::unique_ptr<Pass> createMapToGpuPass(const DeviceOptions& options) {
  return std::make_unique<MapToGpuPass>(options);
}

}  // namespace kiln::schedule
