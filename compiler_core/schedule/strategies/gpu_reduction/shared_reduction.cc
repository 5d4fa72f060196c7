#include "compiler_core/schedule/strategies/gpu_reduction/shared_reduction.h"

#include "compiler_core/ir/attributes.h"
#include "compiler_core/schedule/analysis/body.h"
#include "compiler_core/schedule/analysis/extents.h"
#include "compiler_core/schedule/analysis/partial_sums.h"
#include "compiler_core/schedule/analysis/roles.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace kiln::schedule {
namespace {

using namespace mlir;

// The operation that takes a step's value into the result; null unless its operands may come in any order,
// with the same bits, or the order is that of partial sums.
Operation* combinerOf(linalg::LinalgOp op) {
  if (op.getNumDpsInits() != 1 || op.hasIndexSemantics()) return nullptr;
  Block* body = op.getBlock();
  BlockArgument before = body->getArguments().back();
  Operation* combiner = body->getTerminator()->getOperand(0).getDefiningOp();
  const bool isSum = ir::PartialsAttr::isOn(op) && isa_and_nonnull<arith::AddFOp>(combiner);
  if ((!isSum && !isa_and_nonnull<arith::MaximumFOp, arith::MinimumFOp, arith::MaxSIOp, arith::MinSIOp,
                                  arith::MaxUIOp, arith::MinUIOp, arith::AddIOp, arith::MulIOp, arith::AndIOp,
                                  arith::OrIOp, arith::XOrIOp>(combiner)) ||
      combiner->getBlock() != body || !before.hasOneUse() || *before.user_begin() != combiner)
    return nullptr;
  return combiner;
}

// A reduction as the threads of a block share it: `parts` threads make each of `points` results, each of them
// from every parts-th of `steps` steps.
struct Sharing {
  Operation* combiner = nullptr;
  TypedAttr neutral;                           // what a part begins with
  SmallVector<unsigned> parallel, reductions;  // loops
  SmallVector<std::int64_t> extents;           // of all loops
  std::int64_t points = 1, steps = 1, parts = 1;
  bool fuse = false;  // a product and the addition that takes it round once
};

// How many of `threads` threads make one result of `sharing`, whose own parts are not yet known; 1 where
// there is little to share or the order of partial sums does not allow it.
std::int64_t choosePartCount(const Sharing& sharing, bool isSum, std::int64_t threads) {
  constexpr std::int64_t kSteps = 8;  // of a thread, at least
  std::int64_t parts = 1;
  while (parts * 2 * sharing.points <= threads && parts * 2 * kSteps <= sharing.steps) parts *= 2;
  if (!isSum) return parts;
  // A thread has one partial of a result; they are distributed along all of the steps.
  const bool fills =
      sharing.reductions.size() == 1 || sharing.extents[sharing.reductions.back()] % kPartials == 0;
  return parts >= kPartials && fills ? kPartials : 1;
}

// Nullopt where threads do not share `op`. `contraction`: acc + a * b may be one fused operation.
std::optional<Sharing> planSharing(linalg::LinalgOp op, std::int64_t threads, bool contraction) {
  Sharing sharing;
  sharing.combiner = combinerOf(op);
  if (!sharing.combiner) return std::nullopt;
  const auto neutral = arith::getNeutralElement(sharing.combiner);
  op.getParallelDims(sharing.parallel);
  op.getReductionDims(sharing.reductions);
  sharing.extents = op.getStaticLoopRanges();
  const auto points = staticPositions(op, sharing.parallel), steps = staticPositions(op, sharing.reductions);
  if (!neutral || !points || !steps || sharing.reductions.empty() || *points == 0 ||
      *points * *steps > (std::int64_t{1} << 30))
    return std::nullopt;
  sharing.neutral = *neutral;
  sharing.points = *points;
  sharing.steps = *steps;
  const bool isSum = ir::PartialsAttr::isOn(op);
  sharing.parts = choosePartCount(sharing, isSum, threads);
  if (sharing.parts == 1) return std::nullopt;
  sharing.fuse = isSum && contraction && findRoles(op, {});
  return sharing;
}

class SharedReductionEmitter {
 public:
  SharedReductionEmitter(RewriterBase& builder, linalg::LinalgOp op, const Sharing& sharing,
                         const BlockThread& thread)
      : b_(builder), op_(op), loc_(op.getLoc()), sharing_(sharing), thread_(thread) {}

  void emit() {
    Value parts = storeParts();
    // In pairs, until one is left.
    for (std::int64_t half = sharing_.parts / 2; half > 0; half /= 2) combineHalves(parts, half);
    storeResults(parts);
  }

 private:
  using LoopIndices = SmallVector<OpFoldResult>;  // one per loop of the operation

  Value index(std::int64_t value) { return arith::ConstantIndexOp::create(b_, loc_, value); }

  // Sets the indices of `loops` to position `at` of their row-major space.
  void place(Value at, ArrayRef<unsigned> loops, LoopIndices& indices) {
    for (std::size_t i = loops.size(); i-- > 0;) {
      const std::int64_t extent = sharing_.extents[loops[i]];
      indices[loops[i]] = i == 0 ? at : arith::RemUIOp::create(b_, loc_, at, index(extent)).getResult();
      if (i > 0) at = arith::DivUIOp::create(b_, loc_, at, index(extent));
    }
  }
  // Where the operation finds the element of `operand`.
  SmallVector<Value> elementOf(OpOperand& operand, const LoopIndices& indices) {
    const AffineMap map = op_.getMatchingIndexingMap(&operand);
    SmallVector<Value> result;
    for (unsigned i = 0; i < map.getNumResults(); ++i)
      result.push_back(getValueOrCreateConstantIndexOp(
          b_, loc_, affine::makeComposedFoldedAffineApply(b_, loc_, map.getSubMap({i}), indices)));
    return result;
  }
  Value combine(Value x, Value y) {
    Operation* copy = sharing_.combiner->clone();
    copy->setOperands({x, y});
    b_.insert(copy);
    return copy->getResult(0);
  }
  LoopIndices zeros() { return LoopIndices(op_.getNumLoops(), b_.getIndexAttr(0)); }

  // body(point, part) for the first `parts` parts of every result, each in one thread.
  void forEachPart(std::int64_t parts, llvm::function_ref<void(Value point, Value part)> body) {
    distributeOverThreads(b_, loc_, b_.getIndexAttr(sharing_.points * parts), thread_, {}, [&](Value at) {
      at = arith::IndexCastUIOp::create(b_, loc_, b_.getIndexType(), at);
      Value point = arith::DivUIOp::create(b_, loc_, at, index(parts)),
            part = arith::RemUIOp::create(b_, loc_, at, index(parts));
      body(point, part);
    });
  }

  // Gives the buffer of all parts: [points, parts].
  Value storeParts() {
    const Type element = getElementTypeOrSelf(op_.getDpsInitOperand(0)->get().getType());
    auto type = MemRefType::get({sharing_.points, sharing_.parts}, element);
    Value buffer = memref::AllocOp::create(b_, loc_, type, b_.getI64IntegerAttr(64));
    forEachPart(sharing_.parts, [&](Value point, Value part) {
      Value value = reducePart(point, part);
      memref::StoreOp::create(b_, loc_, value, buffer, ValueRange{point, part});
    });
    return buffer;
  }

  // The steps of one part, one after the other.
  Value reducePart(Value point, Value part) {
    LoopIndices indices = zeros();
    place(point, sharing_.parallel, indices);
    Value start = arith::ConstantOp::create(b_, loc_, sharing_.neutral);
    auto loop = scf::ForOp::create(b_, loc_, part, index(sharing_.steps), index(sharing_.parts), start);
    OpBuilder::InsertionGuard guard(b_);
    b_.setInsertionPointToStart(loop.getBody());
    place(loop.getInductionVar(), sharing_.reductions, indices);
    SmallVector<Value> arguments = loadInputs(indices);
    arguments.push_back(loop.getRegionIterArg(0));
    scf::YieldOp::create(b_, loc_, emitBody(b_, op_, arguments, 0, sharing_.fuse));
    return loop.getResult(0);
  }

  // The body's arguments of one step; null for those that it does not use.
  SmallVector<Value> loadInputs(const LoopIndices& indices) {
    SmallVector<Value> arguments;
    for (OpOperand* input : op_.getDpsInputOperands()) {
      if (!op_.payloadUsesValueFromOperand(input))
        arguments.push_back({});
      else if (isa<MemRefType>(input->get().getType()))
        arguments.push_back(memref::LoadOp::create(b_, loc_, input->get(), elementOf(*input, indices)));
      else
        arguments.push_back(input->get());
    }
    return arguments;
  }

  // Each of the first `half` parts of a result takes the one that lies `half` behind it.
  void combineHalves(Value buffer, std::int64_t half) {
    gpu::BarrierOp::create(b_, loc_);
    forEachPart(half, [&](Value point, Value part) {
      Value other = arith::AddIOp::create(b_, loc_, part, index(half));
      Value x = memref::LoadOp::create(b_, loc_, buffer, ValueRange{point, part}),
            y = memref::LoadOp::create(b_, loc_, buffer, ValueRange{point, other});
      memref::StoreOp::create(b_, loc_, combine(x, y), buffer, ValueRange{point, part});
    });
  }

  // What a result starts from takes its first part, which holds all of them by now.
  void storeResults(Value buffer) {
    OpOperand& init = *op_.getDpsInitOperand(0);
    gpu::BarrierOp::create(b_, loc_);
    distributeOverThreads(b_, loc_, b_.getIndexAttr(sharing_.points), thread_, {}, [&](Value at) {
      at = arith::IndexCastUIOp::create(b_, loc_, b_.getIndexType(), at);
      LoopIndices indices = zeros();
      place(at, sharing_.parallel, indices);
      Value start;
      if (auto number = ir::InitialAttr::get(op_))
        start = arith::ConstantOp::create(b_, loc_, number);
      else
        start = memref::LoadOp::create(b_, loc_, init.get(), elementOf(init, indices));
      Value own = memref::LoadOp::create(b_, loc_, buffer, ValueRange{at, index(0)});
      memref::StoreOp::create(b_, loc_, combine(start, own), init.get(), elementOf(init, indices));
    });
  }

  RewriterBase& b_;
  linalg::LinalgOp op_;
  Location loc_;
  const Sharing& sharing_;
  const BlockThread& thread_;
};

}  // namespace

bool emitSharedReduction(RewriterBase& rewriter, linalg::LinalgOp op, const BlockThread& thread,
                         const GpuOptions& options) {
  const auto sharing = planSharing(op, thread.count, options.contraction);
  if (!sharing) return false;
  SharedReductionEmitter(rewriter, op, *sharing, thread).emit();
  return true;
}

}  // namespace kiln::schedule
