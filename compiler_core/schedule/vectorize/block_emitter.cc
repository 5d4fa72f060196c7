#include "compiler_core/schedule/vectorize/block_emitter.h"

#include "compiler_core/schedule/analysis/body.h"
#include "compiler_core/schedule/analysis/extents.h"
#include "compiler_core/schedule/analysis/weight_panels.h"
#include "compiler_core/schedule/vectorize/non_temporal.h"
#include "compiler_core/schedule/vectorize/transposed.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

namespace kiln::schedule {
namespace {

using namespace mlir;

// Part of a block's lanes that fits one register.
struct Piece {
  std::int64_t offset, lanes;  // lanes 0: one scalar
  std::int64_t width;          // lanes of its vectors; those behind `lanes` count for nothing
  Value mask = {};             // of the lanes that count, where only a run knows how many

  bool isPartial() const { return lanes != width || mask; }
};

class BlockEmitter {
 public:
  BlockEmitter(RewriterBase& builder, const FusedProduct& product, const Roles& roles,
               const BlockOptions& options)
      : b_(builder),
        product_(product),
        op_(product.op),
        loc_(op_.getLoc()),
        roles_(roles),
        options_(options),
        likely_(estimatedExtents(op_)),
        masks_(options.shape.masks && llvm::all_of(product.parts(), isSafeOnPaddingLanes)),
        nonTemporal_(wantsNonTemporalStores(op_, options.shape)) {
    ivs_.assign(op_.getNumLoops(), OpFoldResult(b_.getIndexAttr(0)));
    for (OpOperand& operand : op_->getOpOperands())
      used_.push_back(op_.isDpsInput(&operand) || op_.payloadUsesValueFromOperand(&operand));
    for (linalg::LinalgOp part : product.parts()) {
      const auto own = part == op_ ? std::optional(roles) : findRoles(part, options.shape);
      for (OpOperand& operand : part->getOpOperands())
        lanes_[&operand] = own->operands[operand.getOperandNumber()];
    }
  }

  void emit() {
    readSizes();
    reductionFrom_.assign(roles_.reductions.size(), b_.getIndexAttr(0));
    for (unsigned dim : roles_.reductions) reductionSize_.push_back(sizes_[dim]);
    for (linalg::LinalgOp part : product_.parts())
      for (OpOperand& operand : part->getOpOperands()) flatten(operand);
    if (options_.pack) weight_ = findWeightPanels(b_, op_, options_.schedule, options_.shape);
    emitOuter(0);
    if (nonTemporal_) orderStores(b_, op_);
  }

 private:
  // The extent of each loop: a number, or the size of a dimension that it runs over.
  void readSizes() {
    const SmallVector<std::int64_t> fixed = op_.getStaticLoopRanges();
    for (const std::int64_t extent : fixed) sizes_.push_back(b_.getIndexAttr(extent));
    for (OpOperand& operand : op_->getOpOperands())
      for (auto [i, expression] : llvm::enumerate(op_.getMatchingIndexingMap(&operand).getResults())) {
        auto loop = dyn_cast<AffineDimExpr>(expression);
        if (!loop || !ShapedType::isDynamic(fixed[loop.getPosition()])) continue;
        OpFoldResult& size = sizes_[loop.getPosition()];
        if (!isa<Value>(size))
          size = b_.createOrFold<memref::DimOp>(loc_, operand.get(), static_cast<std::int64_t>(i));
      }
  }
  // The number behind an extent that is known at compile time.
  static std::optional<std::int64_t> fixed(OpFoldResult extent) { return getConstantIntValue(extent); }
  static bool isAtLeast(OpFoldResult extent, std::int64_t least) {
    return fixed(extent).value_or(least) >= least;
  }

  // body(iv) for iv in [from, to) by step; a single iteration needs no loop.
  void loop(OpFoldResult from, OpFoldResult to, std::int64_t step,
            llvm::function_ref<void(OpFoldResult)> body) {
    const auto first = fixed(from), last = fixed(to);
    if (first && last) {
      if (*first >= *last) return;
      if (*last - *first <= step) return body(from);
    }
    auto at = [&](OpFoldResult value) { return getValueOrCreateConstantIndexOp(b_, loc_, value); };
    auto loop = scf::ForOp::create(b_, loc_, at(from), at(to), at(b_.getIndexAttr(step)));
    OpBuilder::InsertionGuard guard(b_);
    b_.setInsertionPointToStart(loop.getBody());
    body(loop.getInductionVar());
  }
  // body(iv, size): full steps, then the remainder. One known at compile time has a step of its own size;
  // another is covered by the ever smaller steps of `remainder`, the last of which is 1.
  void chunks(OpFoldResult to, std::int64_t step, ArrayRef<std::int64_t> remainder,
              llvm::function_ref<void(OpFoldResult, std::int64_t)> body) {
    if (const auto extent = fixed(to)) {
      const std::int64_t whole = *extent / step * step;
      loop(b_.getIndexAttr(0), b_.getIndexAttr(whole), step, [&](OpFoldResult iv) { body(iv, step); });
      if (whole < *extent) body(b_.getIndexAttr(whole), *extent - whole);
      return;
    }
    OpFoldResult done = b_.getIndexAttr(0);
    SmallVector<std::int64_t> steps = {step};
    for (const std::int64_t next : remainder)
      if (next < steps.back()) steps.push_back(next);
    for (const std::int64_t next : steps) {
      const AffineExpr from = b_.getAffineDimExpr(0), extent = b_.getAffineDimExpr(1);
      const OpFoldResult until =
          next == 1 ? to
                    : affine::makeComposedFoldedAffineApply(
                          b_, loc_, from + (extent - from).floorDiv(next) * next, {done, to});
      loop(done, until, next, [&](OpFoldResult iv) { body(iv, next); });
      done = until;
    }
  }

  void emitOuter(std::size_t depth) {
    if (depth == roles_.outer.size()) return emitReductionBlocks();
    const unsigned dim = roles_.outer[depth];
    loop(b_.getIndexAttr(0), sizes_[dim], 1, [&](OpFoldResult iv) {
      ivs_[dim] = iv;
      emitOuter(depth + 1);
    });
  }

  // A long single reduction runs in blocks, so that the operands of one block stay in cache for all rows and
  // lanes.
  void emitReductionBlocks() {
    if (roles_.reductions.size() != 1 || !roles_.rows) return emitLanes();
    const OpFoldResult extent = sizes_[roles_.reductions[0]];
    const std::int64_t block = numberOf(options_.schedule, kStepsKnob, kMaxReduction);
    if (!isAtLeast(extent, block + 1)) return emitLanes();
    if (!fixed(extent)) {
      loop(b_.getIndexAttr(0), extent, block, [&](OpFoldResult iv) {
        const AffineExpr d0 = b_.getAffineDimExpr(0), d1 = b_.getAffineDimExpr(1);
        const AffineMap least =
            AffineMap::get(2, 0, {b_.getAffineConstantExpr(block), d1 - d0}, b_.getContext());
        reductionFrom_[0] = iv;
        reductionSize_[0] = affine::makeComposedFoldedAffineMin(b_, loc_, least, {iv, extent});
        emitLanes();
      });
      return;
    }
    const std::int64_t steps = *fixed(extent), blocks = (steps + block - 1) / block,
                       by = (steps + blocks - 1) / blocks, whole = steps / by * by;
    auto run = [&](std::int64_t from, std::int64_t to, std::int64_t size) {
      loop(b_.getIndexAttr(from), b_.getIndexAttr(to), size, [&](OpFoldResult iv) {
        reductionFrom_[0] = iv;
        reductionSize_[0] = b_.getIndexAttr(size);
        isFirst_ = from == 0;
        isLast_ = to == steps;
        emitLanes();
      });
    };
    // The first and the last block do more than those between them.
    const std::int64_t head = product_.init ? by : 0,
                       tail = product_.epilogue && whole == steps ? whole - by : whole;
    run(0, std::min(head, tail), by);
    run(std::min(head, tail), tail, by);
    run(tail, whole, by);
    if (whole < steps) run(whole, steps, steps - whole);
  }

  void emitLanes() {
    const OpFoldResult extent = roles_.lanes ? sizes_[*roles_.lanes] : OpFoldResult(b_.getIndexAttr(1));
    registers_ = roles_.rows || isRowTimesMatrix() ? registersBesideRows()
                                                   : numberOf(options_.schedule, kUnrollKnob, 1);
    const SmallVector<LaneRun> runs = laneRuns(extent, registers_);
    if (!runs.empty()) registers_ = (runs.front().lanes + roles_.width - 1) / roles_.width;
    OpOperand* const packable = weight_ ? nullptr : findPackable();
    packed_ = packable;
    const SmallVector<Value> panels = packed_ ? pack(runs) : SmallVector<Value>(runs.size());
    loadInvariants();
    for (const auto& [run, panel] : llvm::zip_equal(runs, panels))
      loop(run.from, run.to, run.lanes, [&](OpFoldResult iv) {
        if (roles_.lanes) ivs_[*roles_.lanes] = iv;
        panel_ = panel;
        packed_ = panel_ ? packable : nullptr;
        panelNumber_ = numberIn(run, iv);
        mask_ = run.masked ? maskBefore(extent, iv) : Value();
        if (weight_) findPlaces(run, iv);
        emitRows(run.lanes);
      });
    packed_ = nullptr;
    mask_ = {};
  }

  // Loads the operands of an elementwise operation that are invariant along the lanes once, before the loop:
  // stores in the loop would have them read again and again.
  void loadInvariants() {
    invariants_.clear();
    if (!roles_.reductions.empty() || !roles_.lanes) return;
    ivs_[*roles_.lanes] = b_.getIndexAttr(0);
    for (OpOperand* input : op_.getDpsInputOperands()) {
      const bool isWritten = llvm::is_contained(op_.getDpsInits(), input->get());
      if (isWritten || lanes_.at(input) != Lane::kUniform || !isa<MemRefType>(input->get().getType()))
        continue;
      invariants_[input] = memref::LoadOp::create(b_, loc_, input->get(), indices(*input, 0, 0));
    }
  }

  // A block of rows has several registers side by side, which share each broadcast row operand; few rows
  // leave room for more.
  std::int64_t registersBesideRows() const {
    const std::int64_t rows = roles_.rows ? std::max<std::int64_t>(1, likely_[*roles_.rows]) : 1;
    const std::int64_t given = numberOf(options_.schedule, kVectorsKnob, 0);
    return given ? given
                 : std::clamp<std::int64_t>(options_.shape.accumulators / rows, options_.shape.across, 8);
  }

  // Sums without rows, of something that lies along the lanes.
  bool isRowTimesMatrix() {
    return !roles_.rows && !roles_.reductions.empty() && roles_.lanes &&
           llvm::all_of(op_.getDpsInputOperands(), [&](OpOperand* input) {
             return roles_.operands[input->getOperandNumber()] != Lane::kStrided;
           });
  }

  // Steps of such a sum lie so far apart that no processor prefetches the next one by itself.
  void prefetch(unsigned dim, ArrayRef<Piece> pieces) {
    constexpr std::int64_t kMinStrideBytes = 1024, kAhead = 16;
    if (!isRowTimesMatrix() || weight_) return;  // panels are read without a gap
    for (OpOperand* input : op_.getDpsInputOperands()) {
      auto type = dyn_cast<MemRefType>(input->get().getType());
      if (!type || roles_.operands[input->getOperandNumber()] != Lane::kContiguous) continue;
      const auto stride = strideAlong(mapOf(*input), type, dim);
      if (!stride || *stride * type.getElementTypeBitWidth() / 8 < kMinStrideBytes) continue;
      const OpFoldResult before = ivs_[dim];
      ivs_[dim] = plus(before, kAhead);
      for (const Piece& piece : pieces)
        memref::PrefetchOp::create(b_, loc_, input->get(), indices(*input, 0, piece.offset),
                                   /*isWrite=*/false,
                                   /*localityHint=*/3, /*isDataCache=*/true);
      ivs_[dim] = before;
    }
  }

  // The register of a step that this block of rows prefetches; each block of rows takes another one.
  void choosePrefetched(std::int64_t rows, ArrayRef<Piece> pieces) {
    if (!options_.prefetchNextBlock || !roles_.rows || !roles_.lanes) return;
    AffineExpr number = b_.getAffineDimExpr(0).floorDiv(rows);
    SmallVector<OpFoldResult> ivs = {ivs_[*roles_.rows]};
    for (const unsigned dim : roles_.outer) {
      number = number + b_.getAffineDimExpr(static_cast<unsigned>(ivs.size()));
      ivs.push_back(ivs_[dim]);
    }
    prefetchLane_ = affine::makeComposedFoldedAffineApply(
        b_, loc_, number % static_cast<std::int64_t>(pieces.size()) * roles_.width, ivs);
  }
  void prefetchNextBlock() {
    if (!prefetchLane_) return;
    const AffineExpr d0 = b_.getAffineDimExpr(0), d1 = b_.getAffineDimExpr(1);
    const SmallVector<OpFoldResult> before = ivs_;
    const unsigned steps = roles_.reductions.front();
    ivs_[steps] = affine::makeComposedFoldedAffineApply(b_, loc_, d0 + d1, {ivs_[steps], sizes_[steps]});
    ivs_[*roles_.lanes] =
        affine::makeComposedFoldedAffineApply(b_, loc_, d0 + d1, {ivs_[*roles_.lanes], *prefetchLane_});
    for (OpOperand* input : op_.getDpsInputOperands())
      if (roles_.operands[input->getOperandNumber()] == Lane::kContiguous)
        memref::PrefetchOp::create(b_, loc_, input->get(), indices(*input, 0, 0), /*isWrite=*/false,
                                   /*localityHint=*/2, /*isDataCache=*/true);
    ivs_ = before;
  }

  // Blocks of as many lanes each, side by side.
  struct LaneRun {
    OpFoldResult from, to;
    std::int64_t lanes;
    bool remainder = false;  // of lanes that are known at run time only
    bool masked = false;     // the last block may reach beyond `to`
  };

  // Blocks of at most `registers`. A known number of lanes is distributed evenly; what an unknown one leaves
  // is covered by single registers under a mask, or by ever smaller blocks.
  SmallVector<LaneRun> laneRuns(OpFoldResult extent, std::int64_t registers) {
    if (!roles_.lanes) return {{b_.getIndexAttr(0), extent, 1}};
    const std::int64_t width = roles_.width;
    SmallVector<LaneRun> runs;
    if (const auto lanes = fixed(extent)) {
      const std::int64_t vectors = (*lanes + width - 1) / width,
                         blocks = (vectors + registers - 1) / registers;
      std::int64_t from = 0;
      auto add = [&](std::int64_t count, std::int64_t size) {
        if (count == 0 || size == 0) return;
        runs.push_back({b_.getIndexAttr(from), b_.getIndexAttr(from + count * size), size});
        from += count * size;
      };
      if (blocks == 0) return runs;
      const std::int64_t larger = vectors % blocks, smaller = vectors / blocks * width;
      add(larger, smaller + width);
      add((*lanes - from) / smaller, smaller);
      add(1, *lanes - from);
      return runs;
    }
    OpFoldResult from = b_.getIndexAttr(0);
    if (masks_ && width > 1 &&
        llvm::none_of(lanes_, [](const auto& operand) { return operand.second == Lane::kStrided; })) {
      const OpFoldResult whole = wholeBlocks(from, extent, registers * width);
      return {{from, whole, registers * width}, {whole, extent, width, /*remainder=*/true, /*masked=*/true}};
    }
    for (const std::int64_t lanes : {registers * width, width, std::int64_t{1}}) {
      if (!runs.empty() && lanes == runs.back().lanes) continue;
      const OpFoldResult to = lanes == 1 ? extent : wholeBlocks(from, extent, lanes);
      runs.push_back({from, to, lanes, !runs.empty()});
      from = to;
    }
    return runs;
  }
  // Where the blocks of `size` from `from` on end that fit before `to`.
  OpFoldResult wholeBlocks(OpFoldResult from, OpFoldResult to, std::int64_t size) {
    const AffineExpr d0 = b_.getAffineDimExpr(0), d1 = b_.getAffineDimExpr(1);
    return affine::makeComposedFoldedAffineApply(b_, loc_, d0 + (d1 - d0).floorDiv(size) * size, {from, to});
  }
  OpFoldResult numberIn(const LaneRun& run, OpFoldResult lane) {
    const AffineExpr d0 = b_.getAffineDimExpr(0), d1 = b_.getAffineDimExpr(1);
    return affine::makeComposedFoldedAffineApply(b_, loc_, (d1 - d0).floorDiv(run.lanes), {run.from, lane});
  }

  // Where in the weight's panels each register of this block of lanes is.
  void findPlaces(const LaneRun& run, OpFoldResult lane) {
    const std::int64_t wide = weight_->lanes;
    auto number = [&](std::int64_t value) -> Value {
      return arith::ConstantIndexOp::create(b_, loc_, value);
    };
    auto add = [&](Value value, std::int64_t offset) -> Value {
      return offset == 0 ? value : arith::AddIOp::create(b_, loc_, value, number(offset)).getResult();
    };
    Value first = arith::AddIOp::create(b_, loc_, getValueOrCreateConstantIndexOp(b_, loc_, weight_->first),
                                        getValueOrCreateConstantIndexOp(b_, loc_, lane));
    // Blocks that begin or end panels have their registers where the first one is.
    const bool isRegular = weight_->isAligned && *fixed(run.from) % wide == 0 &&
                           (run.lanes % wide == 0 || wide % run.lanes == 0);
    places_.clear();
    for (const Piece& piece : piecesOf(run.lanes)) {
      const std::int64_t panels = isRegular ? piece.offset / wide : 0;
      Value from = add(first, isRegular ? 0 : piece.offset);
      Value inside = isRegular && run.lanes % wide == 0
                         ? number(0)
                         : arith::RemUIOp::create(b_, loc_, from, number(wide)).getResult();
      places_[piece.offset] = {add(arith::DivUIOp::create(b_, loc_, from, number(wide)), panels),
                               add(inside, isRegular ? piece.offset % wide : 0)};
    }
  }

  // The operand whose panel (reduction block x lanes) is copied into scratch before the rows run over it: a
  // matrix with rows so long that each step of the reduction would touch another page, read often enough to
  // pay for the copy.
  OpOperand* findPackable() {
    constexpr std::int64_t kMinRows = 24, kMinSteps = 32, kMinStrideBytes = 1024;
    const std::int64_t given = options_.pack ? numberOf(options_.schedule, kPackKnob, 1) : 0,
                       pack = given == kPackedWeight ? 1 : given;
    if (roles_.reductions.size() != 1 || !roles_.rows || pack == 0) return nullptr;
    if (pack == 1 && (likely_[*roles_.rows] < kMinRows || !isAtLeast(reductionSize_[0], kMinSteps)))
      return nullptr;
    for (OpOperand* input : op_.getDpsInputOperands()) {
      auto type = dyn_cast<MemRefType>(input->get().getType());
      AffineMap map = op_.getMatchingIndexingMap(input);
      if (!type || roles_.operands[input->getOperandNumber()] != Lane::kContiguous ||
          map.isFunctionOfDim(*roles_.rows) || !map.isFunctionOfDim(roles_.reductions[0]))
        continue;
      const auto stride = strideAlong(map, type, roles_.reductions[0]);
      if (stride && (pack == 2 || *stride * type.getElementTypeBitWidth() / 8 >= kMinStrideBytes))
        return input;
    }
    return nullptr;
  }

  // Copies of the packed operand, one panel per block of lanes: for each run [block][step of the
  // reduction][lane]. Blocks that are no more than a remainder are read where they are.
  SmallVector<Value> pack(ArrayRef<LaneRun> runs) {
    const unsigned dim = roles_.reductions[0];
    const Type element = getElementTypeOrSelf(packed_->get().getType());
    SmallVector<Value> panels;
    for (const LaneRun& run : runs) {
      if (run.remainder) {
        panels.emplace_back();
        continue;
      }
      SmallVector<std::int64_t> shape;
      SmallVector<Value> extents;
      for (const OpFoldResult size :
           {numberIn(run, run.to), reductionSize_[0], OpFoldResult(b_.getIndexAttr(run.lanes))}) {
        shape.push_back(fixed(size).value_or(ShapedType::kDynamic));
        if (!fixed(size)) extents.push_back(cast<Value>(size));
      }
      panels.push_back(memref::AllocOp::create(b_, loc_, MemRefType::get(shape, element), extents,
                                               b_.getI64IntegerAttr(64)));
    }
    const OpFoldResult before = ivs_[dim];
    loop(b_.getIndexAttr(0), reductionSize_[0], 1, [&](OpFoldResult at) {
      AffineExpr d0 = b_.getAffineDimExpr(0), d1 = b_.getAffineDimExpr(1);
      ivs_[dim] = affine::makeComposedFoldedAffineApply(b_, loc_, d0 + d1, {reductionFrom_[0], at});
      for (const auto& [run, panel] : llvm::zip_equal(runs, panels)) {
        if (!panel) continue;
        loop(run.from, run.to, run.lanes, [&](OpFoldResult lane) {
          ivs_[*roles_.lanes] = lane;
          for (const Piece& piece : piecesOf(run.lanes))
            storeVector(loadVector(packed_->get(), indices(*packed_, 0, piece.offset), piece), panel,
                        panelIndex(numberIn(run, lane), at, piece.offset), piece);
        });
      }
    });
    ivs_[dim] = before;
    return panels;
  }

  SmallVector<Value> panelIndex(OpFoldResult number, OpFoldResult step, std::int64_t lane) {
    return {getValueOrCreateConstantIndexOp(b_, loc_, number),
            getValueOrCreateConstantIndexOp(b_, loc_, step), arith::ConstantIndexOp::create(b_, loc_, lane)};
  }

  SmallVector<Piece> piecesOf(std::int64_t lanes) const {
    SmallVector<Piece> pieces;
    for (std::int64_t offset = 0; offset < lanes; offset += roles_.width) {
      const std::int64_t size = std::min(roles_.width, lanes - offset);
      pieces.push_back({offset, size, masks_ && size > 1 ? roles_.width : size, mask_});
    }
    return pieces;
  }

  // The mask of the lanes of a register at `iv` that lie before `extent`.
  Value maskBefore(OpFoldResult extent, OpFoldResult iv) {
    const OpFoldResult left = affine::makeComposedFoldedAffineApply(
        b_, loc_, b_.getAffineDimExpr(0) - b_.getAffineDimExpr(1), {extent, iv});
    return vector::CreateMaskOp::create(b_, loc_, VectorType::get({roles_.width}, b_.getI1Type()),
                                        getValueOrCreateConstantIndexOp(b_, loc_, left));
  }
  Value maskOf(const Piece& piece) {
    if (piece.mask) return piece.mask;
    SmallVector<bool> lanes(piece.width, false);
    std::fill_n(lanes.begin(), piece.lanes, true);
    const auto type = VectorType::get({piece.width}, b_.getI1Type());
    return arith::ConstantOp::create(b_, loc_, DenseElementsAttr::get(type, lanes));
  }
  Value loadVector(Value source, ValueRange at, const Piece& piece) {
    const auto type = VectorType::get({piece.width}, getElementTypeOrSelf(source.getType()));
    if (!piece.isPartial()) return vector::LoadOp::create(b_, loc_, type, source, at);
    Value zeros = arith::ConstantOp::create(b_, loc_, b_.getZeroAttr(type));
    return vector::MaskedLoadOp::create(b_, loc_, type, source, at, maskOf(piece), zeros);
  }
  void storeVector(Value values, Value to, ValueRange at, const Piece& piece) {
    if (piece.isPartial()) {
      vector::MaskedStoreOp::create(b_, loc_, to, at, maskOf(piece), values);
    } else if (nonTemporal_ && piece.lanes * 32 == options_.shape.bits) {
      vector::StoreOp::create(b_, loc_, values, to, at, /*nontemporal=*/true,
                              llvm::Align(static_cast<std::uint64_t>(options_.shape.bits / 8)));
    } else {
      vector::StoreOp::create(b_, loc_, values, to, at);
    }
  }

  // An operand with every second element along the lanes also as elements in a row.
  void flatten(OpOperand& operand) {
    auto type = dyn_cast<MemRefType>(operand.get().getType());
    const AffineMap map = mapOf(operand);
    SmallVector<std::int64_t> strides;
    std::int64_t offset = 0;
    if (lanes_.at(&operand) != Lane::kStrided || !type || !type.hasStaticShape() ||
        strideAlong(map, type, *roles_.lanes) != 2 || failed(type.getStridesAndOffset(strides, offset)))
      return;
    std::int64_t span = 1;
    AffineExpr at = b_.getAffineConstantExpr(0);
    for (auto [expression, size, stride] : llvm::zip_equal(map.getResults(), type.getShape(), strides)) {
      if (ShapedType::isDynamic(stride)) return;
      span += (size - 1) * stride;
      at = at + expression * stride;
    }
    OpFoldResult from = b_.getIndexAttr(0);
    if (offset != 0) {
      from = memref::ExtractStridedMetadataOp::create(b_, loc_, operand.get()).getOffset();
      offset = ShapedType::kDynamic;
    }
    const auto layout = StridedLayoutAttr::get(b_.getContext(), offset, {1});
    Value view = memref::ReinterpretCastOp::create(
        b_, loc_, MemRefType::get({span}, type.getElementType(), layout), operand.get(), from,
        ArrayRef<OpFoldResult>{b_.getIndexAttr(span)}, ArrayRef<OpFoldResult>{b_.getIndexAttr(1)});
    flat_[&operand] = {view, AffineMap::get(map.getNumDims(), 0, at)};
  }
  // Two vectors that overlap in one element reach no further than the elements wanted.
  Value loadEverySecond(OpOperand& operand, std::int64_t row, const Piece& piece) {
    const auto& [view, map] = flat_.at(&operand);
    SmallVector<OpFoldResult> ivs = ivs_;
    if (roles_.rows) ivs[*roles_.rows] = plus(ivs[*roles_.rows], row);
    ivs[*roles_.lanes] = plus(ivs[*roles_.lanes], piece.offset);
    const OpFoldResult from =
        affine::makeComposedFoldedAffineApply(b_, loc_, map, ArrayRef(ivs).take_front(map.getNumDims()));
    const auto type = VectorType::get({piece.lanes}, getElementTypeOrSelf(view.getType()));
    SmallVector<Value> halves;
    for (const std::int64_t offset : {std::int64_t{0}, piece.lanes - 1})
      halves.push_back(vector::LoadOp::create(b_, loc_, type, view,
                                              getValueOrCreateConstantIndexOp(b_, loc_, plus(from, offset))));
    SmallVector<std::int64_t> lanes;
    for (std::int64_t lane = 0; lane < piece.width; ++lane)
      lanes.push_back(lane >= piece.lanes ? 0 : 2 * lane < piece.lanes ? 2 * lane : 2 * lane + 1);
    return vector::ShuffleOp::create(b_, loc_, halves[0], halves[1], lanes);
  }

  void emitRows(std::int64_t lanes) {
    SmallVector<Piece> pieces = piecesOf(lanes);
    if (!roles_.lanes || (lanes == 1 && !packed_ && !weight_)) pieces = {{0, 0, 0}};
    if (!roles_.rows) return emitBlock(1, pieces);
    const OpFoldResult extent = sizes_[*roles_.rows];
    // Narrower than a whole block: what the registers hold.
    const auto side = static_cast<std::int64_t>(pieces.size());
    const std::int64_t held = std::max<std::int64_t>(1, options_.shape.accumulators / side);
    const std::int64_t given = side == registers_ ? numberOf(options_.schedule, kRowsKnob, 0) : 0;
    const std::int64_t most = given ? given : held;
    std::int64_t step = most;
    if (const auto rows = fixed(extent); rows && *rows > 0) {
      // Even blocks rather than a small last one.
      const std::int64_t blocks = (*rows + most - 1) / most;
      step = (*rows + blocks - 1) / blocks;
    }
    chunks(extent, step, {std::max<std::int64_t>(1, step / 2), 1}, [&](OpFoldResult iv, std::int64_t size) {
      ivs_[*roles_.rows] = iv;
      emitBlock(size, pieces);
    });
  }

  OpFoldResult plus(OpFoldResult value, std::int64_t offset) {
    if (offset == 0) return value;
    AffineExpr d0 = b_.getAffineDimExpr(0);
    return affine::makeComposedFoldedAffineApply(b_, loc_, d0 + offset, {value});
  }

  static AffineMap mapOf(OpOperand& operand) {
    return cast<linalg::LinalgOp>(operand.getOwner()).getMatchingIndexingMap(&operand);
  }

  SmallVector<Value> indices(OpOperand& operand, std::int64_t row, std::int64_t lane) {
    SmallVector<OpFoldResult> ivs = ivs_;
    if (roles_.rows) ivs[*roles_.rows] = plus(ivs[*roles_.rows], row);
    if (roles_.lanes) ivs[*roles_.lanes] = plus(ivs[*roles_.lanes], lane);
    // The loops of an elementwise part are the first of the product's.
    AffineMap map = mapOf(operand);
    SmallVector<Value> result;
    for (unsigned i = 0; i < map.getNumResults(); ++i)
      result.push_back(getValueOrCreateConstantIndexOp(
          b_, loc_,
          affine::makeComposedFoldedAffineApply(b_, loc_, map.getSubMap({i}),
                                                ArrayRef(ivs).take_front(map.getNumDims()))));
    return result;
  }

  Value load(OpOperand& operand, std::int64_t row, Piece piece) {
    Value source = operand.get();
    if (!isa<MemRefType>(source.getType())) return splat(b_, loc_, source, piece.width);
    if (const auto found = invariants_.find(&operand); found != invariants_.end())
      return splat(b_, loc_, found->second, piece.width);
    const Type element = getElementTypeOrSelf(source.getType());
    auto scalar = [&](std::int64_t lane) -> Value {
      return memref::LoadOp::create(b_, loc_, source, indices(operand, row, lane));
    };
    const Lane lane = lanes_.at(&operand);
    if (piece.lanes == 0 || lane == Lane::kUniform) return splat(b_, loc_, scalar(piece.offset), piece.width);
    if (weight_ && &operand == weight_->factor) {
      const auto [number, first] = places_.at(piece.offset);
      Value step = getValueOrCreateConstantIndexOp(b_, loc_, ivs_[roles_.reductions[0]]);
      return loadVector(weight_->panels, {number, step, first}, piece);
    }
    if (&operand == packed_) {
      AffineExpr d0 = b_.getAffineDimExpr(0), d1 = b_.getAffineDimExpr(1);
      const OpFoldResult step = affine::makeComposedFoldedAffineApply(
          b_, loc_, d0 - d1, {ivs_[roles_.reductions[0]], reductionFrom_[0]});
      return loadVector(panel_, panelIndex(panelNumber_, step, piece.offset), piece);
    }
    if (lane == Lane::kContiguous) return loadVector(source, indices(operand, row, piece.offset), piece);
    if (const auto square = transposed_.find({operand.getOperandNumber(), {row, piece.offset}});
        operand.getOwner() == op_ && square != transposed_.end())
      return square->second[transposedStep_];
    if (piece.lanes > 1 && flat_.contains(&operand)) return loadEverySecond(operand, row, piece);
    SmallVector<Value> values;
    for (std::int64_t i = 0; i < piece.lanes; ++i) values.push_back(scalar(piece.offset + i));
    values.resize(piece.width, values.front());
    return vector::FromElementsOp::create(b_, loc_, VectorType::get({piece.width}, element), values);
  }

  // Loads each operand once per row and piece that it depends on.
  class Loads {
   public:
    explicit Loads(BlockEmitter& emitter) : emitter_(emitter) {}
    Value get(OpOperand& operand, std::int64_t row, std::size_t piece, ArrayRef<Piece> pieces) {
      const auto& roles = emitter_.roles_;
      AffineMap map = mapOf(operand);
      const unsigned number = operand.getOperandNumber();
      const bool byRow = roles.rows && map.isFunctionOfDim(*roles.rows);
      const bool byLane = emitter_.lanes_.at(&operand) != Lane::kUniform;
      // A uniform operand is broadcast once per width.
      const std::int64_t which = byLane ? std::int64_t(piece) : -1 - pieces[piece].width;
      Value& value = values_[{number, {byRow ? row : 0, which}}];
      Piece here = pieces[piece];
      if (!byLane) here.offset = 0;
      if (!value) value = emitter_.load(operand, byRow ? row : 0, here);
      return value;
    }

   private:
    BlockEmitter& emitter_;
    llvm::DenseMap<std::pair<unsigned, std::pair<std::int64_t, std::int64_t>>, Value> values_;
  };

  // All results of the block once, from the accumulators given; returns the new ones.
  SmallVector<Value> step(std::int64_t rows, ArrayRef<Piece> pieces, ValueRange accumulators) {
    Loads loads(*this);
    SmallVector<Value> results;
    const unsigned inits = op_.getNumDpsInits();
    for (std::int64_t row = 0; row < rows; ++row)
      for (std::size_t piece = 0; piece < pieces.size(); ++piece) {
        SmallVector<Value> arguments;
        for (OpOperand* input : op_.getDpsInputOperands())
          arguments.push_back(loads.get(*input, row, piece, pieces));
        for (unsigned i = 0; i < inits; ++i)
          arguments.push_back(accumulators.empty() ? Value() : accumulators[results.size() + i]);
        const bool fuse = options_.contraction && !roles_.reductions.empty();
        llvm::append_range(results, emitBody(b_, op_, arguments, pieces[piece].width, fuse));
      }
    return results;
  }

  SmallVector<Value> reduce(std::size_t depth, std::int64_t rows, ArrayRef<Piece> pieces,
                            SmallVector<Value> values) {
    if (depth == roles_.reductions.size()) return step(rows, pieces, values);
    const unsigned dim = roles_.reductions[depth];
    if (fixed(reductionSize_[depth]) == 1) {
      ivs_[dim] = reductionFrom_[depth];
      return reduce(depth + 1, rows, pieces, values);
    }
    const AffineExpr d0 = b_.getAffineDimExpr(0), d1 = b_.getAffineDimExpr(1);
    OpFoldResult from = reductionFrom_[depth];
    const OpFoldResult to =
        affine::makeComposedFoldedAffineApply(b_, loc_, d0 + d1, {from, reductionSize_[depth]});
    const SmallVector<OpOperand*> transposable = findTransposable(depth, pieces);
    if (!transposable.empty()) {
      const AffineExpr whole = d0 + (d1 - d0).floorDiv(roles_.width) * roles_.width;
      const OpFoldResult until = affine::makeComposedFoldedAffineApply(b_, loc_, whole, {from, to});
      values = steps(from, until, roles_.width, values, [&](Value iv, SmallVector<Value> inner) {
        loadTransposed(transposable, dim, iv, rows, pieces);
        for (transposedStep_ = 0; transposedStep_ < roles_.width; ++transposedStep_) {
          ivs_[dim] = plus(iv, transposedStep_);
          inner = step(rows, pieces, inner);
        }
        transposed_.clear();
        return inner;
      });
      from = until;
      if (fixed(from) && fixed(from) == fixed(to)) return values;
    }
    return steps(from, to, 1, values, [&](Value iv, SmallVector<Value> inner) {
      ivs_[dim] = iv;
      if (depth + 1 == roles_.reductions.size()) {
        prefetch(dim, pieces);
        prefetchNextBlock();
      }
      return reduce(depth + 1, rows, pieces, inner);
    });
  }

  // A loop that carries the accumulators.
  SmallVector<Value> steps(OpFoldResult from, OpFoldResult to, std::int64_t by, ValueRange values,
                           llvm::function_ref<SmallVector<Value>(Value, SmallVector<Value>)> body) {
    auto at = [&](OpFoldResult value) { return getValueOrCreateConstantIndexOp(b_, loc_, value); };
    auto loop = scf::ForOp::create(b_, loc_, at(from), at(to), at(b_.getIndexAttr(by)), values);
    OpBuilder::InsertionGuard guard(b_);
    b_.setInsertionPointToStart(loop.getBody());
    scf::YieldOp::create(b_, loc_,
                         body(loop.getInductionVar(), SmallVector<Value>(loop.getRegionIterArgs())));
    return SmallVector<Value>(loop.getResults());
  }

  // Operands whose elements lie side by side along the innermost reduction loop, not along the lanes: a
  // square of lanes and steps is loaded as vectors and transposed in registers, instead of one load per lane
  // and step.
  SmallVector<OpOperand*> findTransposable(std::size_t depth, ArrayRef<Piece> pieces) {
    SmallVector<OpOperand*> found;
    if (depth + 1 != roles_.reductions.size() || !isAtLeast(reductionSize_[depth], roles_.width) ||
        !llvm::isPowerOf2_64(static_cast<std::uint64_t>(roles_.width)) || roles_.width < 4 ||
        llvm::any_of(pieces, [&](const Piece& piece) { return piece.lanes != roles_.width; }))
      return found;
    for (OpOperand* input : op_.getDpsInputOperands())
      if (roles_.operands[input->getOperandNumber()] == Lane::kStrided &&
          strideAlong(op_.getMatchingIndexingMap(input), input->get().getType(), roles_.reductions[depth]) ==
              1)
        found.push_back(input);
    return found;
  }

  void loadTransposed(ArrayRef<OpOperand*> operands, unsigned dim, OpFoldResult from, std::int64_t rows,
                      ArrayRef<Piece> pieces) {
    const OpFoldResult before = std::exchange(ivs_[dim], from);
    for (OpOperand* operand : operands) {
      const bool byRow = roles_.rows && op_.getMatchingIndexingMap(operand).isFunctionOfDim(*roles_.rows);
      const auto type = VectorType::get({roles_.width}, getElementTypeOrSelf(operand->get().getType()));
      for (std::int64_t row = 0; row < (byRow ? rows : 1); ++row)
        for (const Piece& piece : pieces) {
          SmallVector<Value> lanes;
          for (std::int64_t lane = 0; lane < roles_.width; ++lane)
            lanes.push_back(vector::LoadOp::create(b_, loc_, type, operand->get(),
                                                   indices(*operand, row, piece.offset + lane)));
          transposed_[{operand->getOperandNumber(), {row, piece.offset}}] =
              transposed(b_, loc_, std::move(lanes));
        }
    }
    ivs_[dim] = before;
  }

  // An elementwise part, for each result of the block: from `results` where it reads those.
  SmallVector<Value> elementwise(linalg::LinalgOp part, std::int64_t rows, ArrayRef<Piece> pieces,
                                 ValueRange results) {
    Loads loads(*this);
    SmallVector<Value> made;
    for (std::int64_t row = 0; row < rows; ++row)
      for (std::size_t piece = 0; piece < pieces.size(); ++piece) {
        SmallVector<Value> arguments;
        for (OpOperand& operand : part->getOpOperands())
          if (!results.empty() && llvm::is_contained(product_.results, operand.getOperandNumber()))
            arguments.push_back(results[made.size()]);
          else if (part.isDpsInput(&operand) || part.payloadUsesValueFromOperand(&operand))
            arguments.push_back(loads.get(operand, row, piece, pieces));
          else
            arguments.emplace_back();
        llvm::append_range(made, emitBody(b_, part, arguments, pieces[piece].width, /*fuse=*/false));
      }
    return made;
  }

  void emitBlock(std::int64_t rows, ArrayRef<Piece> pieces) {
    SmallVector<Value> values;
    const bool reads = llvm::any_of(op_.getDpsInitsMutable(),
                                    [&](OpOperand& init) { return used_[init.getOperandNumber()]; });
    if (product_.init && isFirst_)
      values = elementwise(product_.init, rows, pieces, {});
    else if (reads)
      for (std::int64_t row = 0; row < rows; ++row)
        for (Piece piece : pieces)
          for (OpOperand& init : op_.getDpsInitsMutable()) values.push_back(load(init, row, piece));
    choosePrefetched(rows, pieces);
    values = reduce(0, rows, pieces, values);
    linalg::LinalgOp writer = op_;
    if (product_.epilogue && isLast_) {
      writer = product_.epilogue;
      values = elementwise(writer, rows, pieces, values);
    }
    auto next = values.begin();
    for (std::int64_t row = 0; row < rows; ++row)
      for (Piece piece : pieces)
        for (OpOperand& init : writer.getDpsInitsMutable()) {
          SmallVector<Value> at = indices(init, row, piece.offset);
          if (piece.lanes == 0)
            memref::StoreOp::create(b_, loc_, *next++, init.get(), at);
          else
            storeVector(*next++, init.get(), at, piece);
        }
  }

  RewriterBase& b_;
  const FusedProduct& product_;
  linalg::LinalgOp op_;
  Location loc_;
  const Roles& roles_;
  const BlockOptions& options_;
  SmallVector<std::int64_t> likely_;         // the extent of every loop, or what it is expected to be
  SmallVector<OpFoldResult> sizes_;          // the extent of every loop
  SmallVector<OpFoldResult> ivs_;            // the current index of every loop
  SmallVector<OpFoldResult> reductionFrom_;  // per reduction loop
  SmallVector<OpFoldResult> reductionSize_;
  std::int64_t registers_ = 1;   // side by side in the widest block of lanes
  OpOperand* packed_ = nullptr;  // the operand that is read from panels
  Value panel_;                  // of the current chunk of lanes
  OpFoldResult panelNumber_;
  std::optional<WeightPanels> weight_;  // the operand that is read from the panels of the artifact
  llvm::SmallDenseMap<std::int64_t, std::pair<Value, Value>> places_;  // by first lane: panel, and lane in it
  // By operand, row and first lane: the vectors of `width` steps of the reduction.
  llvm::DenseMap<std::pair<unsigned, std::pair<std::int64_t, std::int64_t>>, SmallVector<Value>> transposed_;
  std::int64_t transposedStep_ = 0;
  SmallVector<bool> used_;                    // per operand: the body reads it
  std::optional<OpFoldResult> prefetchLane_;  // first lane of what is prefetched
  bool masks_;
  bool nonTemporal_;  // the stores of results
  Value mask_;        // of the current chunk of lanes, where it is masked
  struct Flat {
    Value view;     // elements in a row
    AffineMap map;  // from the loops to one of them
  };
  llvm::SmallDenseMap<OpOperand*, Flat> flat_;
  llvm::SmallDenseMap<OpOperand*, Value> invariants_;  // the number of an operand that the lanes share
  llvm::DenseMap<OpOperand*, Lane> lanes_;             // of all parts
  bool isFirst_ = true, isLast_ = true;                // of the blocks of the reduction
};

}  // namespace

void emitBlocks(RewriterBase& rewriter, linalg::LinalgOp op, const Roles& roles,
                const BlockOptions& options) {
  OpBuilder::InsertionGuard guard(rewriter);
  rewriter.setInsertionPoint(op);
  const FusedProduct alone{op, {}, {}, {}};
  BlockEmitter(rewriter, alone, roles, options).emit();
  rewriter.eraseOp(op);
}

void emitBlocks(RewriterBase& rewriter, const FusedProduct& product, const BlockOptions& options) {
  const auto roles = *findRoles(product.op, options.shape);
  const bool alike = llvm::all_of(product.parts(), [&](linalg::LinalgOp part) {
    const auto own = findRoles(part, options.shape);
    return own && own->lanes == roles.lanes && own->width == roles.width;
  });
  if (!alike) {
    for (linalg::LinalgOp part : {product.init, product.op, product.epilogue})
      if (part) emitBlocks(rewriter, part, *findRoles(part, options.shape), options);
    return;
  }
  BlockEmitter(rewriter, product, roles, options).emit();
  for (linalg::LinalgOp part : llvm::reverse(product.parts())) rewriter.eraseOp(part);
}

}  // namespace kiln::schedule
