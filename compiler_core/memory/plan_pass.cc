#include "compiler_core/ir/attributes.h"
#include "compiler_core/ir/profile.h"
#include "compiler_core/memory/hoist.h"
#include "compiler_core/memory/intervals.h"
#include "compiler_core/memory/passes.h"
#include "compiler_core/memory/plan.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Bufferization/Transforms/BufferViewFlowAnalysis.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Pass/Pass.h"

namespace kiln::memory {

#define GEN_PASS_DEF_PLANMEMORYPASS
#include "compiler_core/memory/passes.h.inc"

namespace {

using namespace mlir;

// The most bytes that a buffer can take; nullopt where nothing bounds them.
std::optional<std::uint64_t> bytesOf(memref::AllocOp alloc, Intervals& intervals) {
  const MemRefType type = alloc.getType();
  std::uint64_t bytes = (type.getElementTypeBitWidth() + 7) / 8;
  for (unsigned i = 0; i < type.getRank(); ++i) {
    const auto extent = intervals.extent(alloc, i);
    if (!extent || __builtin_mul_overflow(bytes, std::uint64_t(*extent), &bytes) || bytes >> 48)
      return std::nullopt;
  }
  return bytes;
}

// One place that memory is planned for: a block whose operations run in order, and the allocations anywhere
// below it.
struct Region {
  Block* block;
  SmallVector<memref::AllocOp> allocs;
};

// The numbers of an operation and of all that is inside it. A parallel loop counts as one operation: its
// tasks run at the same time.
struct Span {
  std::uint32_t first, last;
};
struct Spans {
  llvm::DenseMap<Operation*, Span> of;
  std::uint32_t next = 0;
};

void number(Block& block, Spans& spans) {
  for (Operation& op : block) {
    const std::uint32_t first = spans.next++;
    if (!isa<scf::ForallOp>(op))
      for (mlir::Region& region : op.getRegions())
        for (Block& inner : region) number(inner, spans);
    spans.of[&op] = {first, spans.next - 1};
  }
}

// The threads of a block run apart from each other from one barrier to the next: all that lies between counts
// as one operation.
void numberByBarrier(Block& block, Spans& spans) {
  for (Operation& op : block) {
    if (isa<gpu::BarrierOp>(op)) ++spans.next;
    spans.of[&op] = {spans.next, spans.next};
  }
}

// A buffer lives from the first to the last operation that has to do with it or with a view of it. Seen from
// the block that makes it, an operation with regions is used as a whole: what a loop uses stays until its
// last iteration, but what one iteration makes for itself lives within the body only.
Buffer lifetime(memref::AllocOp alloc, std::uint64_t bytes, const BufferViewFlowAnalysis& views,
                const Spans& spans) {
  SmallVector<Operation*> users = {alloc};
  for (Value view : views.resolve(alloc.getResult()))
    for (Operation* user : view.getUsers())
      if (!isa<memref::DeallocOp>(user)) users.push_back(user);
  Block* home = alloc->getBlock();
  for (Operation* user : users)
    while (!home->findAncestorOpInBlock(*user)) home = home->getParentOp()->getBlock();
  Buffer buffer{bytes, ~0u, 0};
  // The allocation itself does nothing: it counts only for a buffer without users.
  for (Operation* user : users.size() > 1 ? ArrayRef(users).drop_front() : ArrayRef(users)) {
    const Span span = spans.of.lookup(home->findAncestorOpInBlock(*user));
    buffer.first = std::min(buffer.first, span.first);
    buffer.last = std::max(buffer.last, span.last);
  }
  return buffer;
}

constexpr std::size_t kAlivePoints = 64;  // enough for a line of a terminal

struct PlanMemoryPass : impl::PlanMemoryPassBase<PlanMemoryPass> {
  using Base::Base;

  // `alive`, if given, gets the bytes alive over the time of the region (aliveOverTime).
  FailureOr<Plan> planRegion(Region& region, const BufferViewFlowAnalysis& views, Intervals& intervals,
                             std::vector<std::uint64_t>* alive = nullptr) {
    Spans spans;
    if (sharedBytes && isa<scf::ForallOp>(region.block->getParentOp()))
      numberByBarrier(*region.block, spans);
    else
      number(*region.block, spans);
    std::vector<Buffer> buffers;
    for (memref::AllocOp alloc : region.allocs) {
      const auto bytes = bytesOf(alloc, intervals);
      if (!bytes) {
        alloc.emitError("an allocation that nothing bounds reached the memory planner");
        return failure();
      }
      buffers.push_back(lifetime(alloc, *bytes, views, spans));
    }
    const Plan result = plan(buffers);
    if (alive) *alive = aliveOverTime(buffers, kAlivePoints);
    for (auto [alloc, offset] : llvm::zip_equal(region.allocs, result.offsets))
      ir::OffsetAttr::set(alloc, ir::toAttribute(&getContext(), offset));
    return result;
  }

  // Until what is left fits the shared memory of a block.
  LogicalResult hoistLargest(scf::ForallOp block, Intervals& intervals) {
    for (;;) {
      Region kernel{block.getBody(), {}};
      block.walk([&](memref::AllocOp alloc) { kernel.allocs.push_back(alloc); });
      const auto planned = planRegion(kernel, BufferViewFlowAnalysis(block), intervals);
      if (failed(planned)) return failure();
      if (planned->peak <= sharedBytes) return success();
      memref::AllocOp largest;
      std::pair<bool, std::uint64_t> most;
      for (memref::AllocOp alloc : kernel.allocs) {
        const std::pair size(!ir::PanelAttr::isOn(alloc), *bytesOf(alloc, intervals));
        if (largest && size <= most) continue;
        largest = alloc;
        most = size;
      }
      hoist(largest, block, (most.second + kAlignment - 1) / kAlignment * kAlignment);
    }
  }

  void setSharedBytes(scf::ForallOp block, std::uint64_t bytes) {
    NamedAttrList info;
    if (auto given = ir::KernelAttr::get(block)) info = NamedAttrList(given);
    ir::kernel::kSharedBytes.set(info, ir::toAttribute(&getContext(), bytes));
    ir::KernelAttr::set(block, info.getDictionary(&getContext()));
  }

  void runOnOperation() override {
    func::FuncOp function = getOperation();
    if (function.isExternal()) return;
    const SmallVector<ir::Range> limits = ir::limitsOf(function);
    if (sharedBytes) {
      Intervals intervals(limits);
      SmallVector<scf::ForallOp> blocks;
      function.walk([&](scf::ForallOp block) { blocks.push_back(block); });
      for (scf::ForallOp block : blocks)
        if (failed(hoistLargest(block, intervals))) return signalPassFailure();
    }
    const BufferViewFlowAnalysis views(function);
    Intervals intervals(limits);
    Region arena{&function.front(), {}};
    SmallVector<Region> kernels;
    function.walk<WalkOrder::PreOrder>([&](Operation* op) {
      if (auto alloc = dyn_cast<memref::AllocOp>(op)) arena.allocs.push_back(alloc);
      if (auto loop = dyn_cast<scf::ForallOp>(op)) {
        Region& kernel = kernels.emplace_back(Region{loop.getBody(), {}});
        loop.walk([&](memref::AllocOp alloc) { kernel.allocs.push_back(alloc); });
        return WalkResult::skip();
      }
      return WalkResult::advance();
    });
    std::vector<std::uint64_t> alive;
    auto planned = planRegion(arena, views, intervals, &alive);
    if (failed(planned)) return signalPassFailure();
    std::uint64_t scratch = 0;
    for (Region& kernel : kernels) {
      auto slot = planRegion(kernel, views, intervals);
      if (failed(slot)) return signalPassFailure();
      if (sharedBytes)
        setSharedBytes(cast<scf::ForallOp>(kernel.block->getParentOp()), slot->peak);
      else
        scratch = std::max(scratch, slot->peak);
    }
    SmallVector<Operation*> frees;
    function.walk([&](memref::DeallocOp op) { frees.push_back(op); });
    for (Operation* op : frees) op->erase();
    ir::setArena(function, {planned->peak, planned->total, planned->lowerBound,
                            static_cast<std::int64_t>(arena.allocs.size())});
    const SmallVector<std::int64_t> points(alive.begin(), alive.end());
    ir::ArenaAliveAttr::set(function, DenseI64ArrayAttr::get(&getContext(), points));
    ir::ScratchBytesAttr::set(function, ir::toAttribute(&getContext(), scratch));
  }
};

}  // namespace

}  // namespace kiln::memory
