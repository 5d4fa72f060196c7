#include "compiler_core/schedule/strategies/winograd/winograd.h"

#include "compiler_core/schedule/emit/cpu/channel_sums.h"
#include "compiler_core/schedule/strategies/winograd/input.h"
#include "compiler_core/schedule/strategies/winograd/knobs.h"
#include "compiler_core/schedule/strategies/winograd/roles.h"
#include "compiler_core/schedule/strategies/winograd/tile_writer.h"
#include "compiler_core/schedule/strategies/winograd/transform.h"
#include "compiler_core/schedule/strategies/winograd/weights.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

namespace kiln::schedule {
namespace {

using namespace mlir;

class WinogradEmitter : TileWriter {
 public:
  WinogradEmitter(RewriterBase& builder, const FusedProduct& product, LoopNest nest, WinogradRoles roles,
                  const BlockOptions& options)
      : TileWriter(builder, linalg::LinalgOp(product.op).getLoc(),
                   {WinogradKnobs::of(options.schedule).results, nest.loops[roles.rows].extent,
                    nest.loops[roles.columns].extent},
                   options.shape.bits / kFloatBits),
        product_(product),
        nest_(std::move(nest)),
        roles_(std::move(roles)),
        options_(options),
        steps_(nest_.loops[roles_.steps].extent) {
    options_.pack = false;
  }

  bool fits() const { return tiles_.rows >= tiles_.results && tiles_.columns >= tiles_.results; }

  void emit() {
    weights_ = inWinogradDomain(roles_.argument, tiles_.results, roles_.lanes);
    emitOuter(0);
  }

 private:
  void emitOuter(std::size_t depth) {
    if (depth < roles_.outer.size()) {
      const unsigned loop = roles_.outer[depth];
      return walkLoop(b_, loc_, nest_, loop, {0, nest_.loops[loop].extent, 1}, [&] { emitOuter(depth + 1); });
    }
    inputs_ = emitInput(*this, nest_, roles_, options_.contraction);
    products_ = scratch(tiles_.points() * tiles_.pitch(roles_.lanes));
    sums_ = scratch(tiles_.rows * tiles_.columns * roles_.lanes);
    start_ = scratch(roles_.lanes);
    walkLoop(b_, loc_, nest_, roles_.channels, {0, nest_.loops[roles_.channels].extent, roles_.lanes}, [&] {
      emitProducts();
      emitResults();
      emitTransposedSums();
      if (!product_.epilogue) return;
      LoopNest nest = nest_;
      for (unsigned i : roles_.outer) nest.loops[i].extent = 1;
      emitEpilogue(b_, product_, nest, options_);
    });
  }

  // Multiplies with a panel of channels: one matrix product per point.
  void emitProducts() {
    const std::int64_t points = tiles_.points(), lanes = roles_.lanes;
    const OpFoldResult panel =
        apply(d(0).floorDiv(kWindowElements) * points, {nest_.operands[roles_.weight].offset});
    const BlockOptions options = productOptions();
    loop(points, 1, [&](OpFoldResult point) {
      LoopNest nest;
      nest.operands.resize(3);
      nest.operands[roles_.window] = {inputs_, apply(d(0) * tiles_.pitch(steps_), {point})};
      nest.operands[roles_.weight] = {weights_, apply(d(0) + d(1) * (steps_ * lanes), {panel, point})};
      nest.operands[roles_.result] = {products_, apply(d(0) * tiles_.pitch(lanes), {point})};
      auto add = [&](std::int64_t extent, utils::IteratorType type, std::int64_t window, std::int64_t weight,
                     std::int64_t result) {
        NestLoop loop{extent, type, SmallVector<std::int64_t>(3, 0)};
        loop.strides[roles_.window] = window;
        loop.strides[roles_.weight] = weight;
        loop.strides[roles_.result] = result;
        nest.loops.push_back(std::move(loop));
      };
      add(tiles_.count(), utils::IteratorType::parallel, steps_, 0, lanes);
      add(lanes, utils::IteratorType::parallel, 0, 1, 1);
      add(steps_, utils::IteratorType::reduction, 1, lanes, 0);
      FusedProduct made;
      made.op = cast<linalg::LinalgOp>(emitNest(b_, product_.op, nest).getOperation());
      b_.setInsertionPoint(made.op);
      made.init = zeros(made.op.getDpsInits()[0]);
      b_.setInsertionPointAfter(made.op);
      emitBlocks(b_, made, options);
    });
  }

  // Each panel is read once per task. Where one is more than stays in L2, its next point is prefetched, by at
  // least as many blocks of rows as a step has registers: each fetches one of these.
  BlockOptions productOptions() const {
    constexpr std::int64_t kStaysInL2 = 1 << 18;
    BlockOptions options = options_;
    options.prefetchNextBlock = tiles_.points() * steps_ * roles_.lanes > kStaysInL2;
    const std::int64_t across = roles_.lanes / width_, held = options.shape.accumulators / across;
    if (options.prefetchNextBlock && options.knobs.rows == 0 && options.knobs.vectors == 0 &&
        tiles_.count() >= 2 * across && tiles_.count() < across * held) {
      options.knobs.rows = (tiles_.count() + across - 1) / across;
      options.knobs.vectors = across;
    }
    return options;
  }

  linalg::LinalgOp zeros(Value buffer) {
    const AffineMap map = b_.getMultiDimIdentityMap(2);
    const SmallVector<utils::IteratorType> types(2, utils::IteratorType::parallel);
    auto made = linalg::GenericOp::create(b_, loc_, ValueRange{}, ValueRange{buffer}, ArrayRef{map}, types,
                                          [&](OpBuilder& b, Location loc, ValueRange) {
                                            Value zero =
                                                arith::ConstantOp::create(b, loc, b.getF32FloatAttr(0));
                                            linalg::YieldOp::create(b, loc, zero);
                                          });
    return cast<linalg::LinalgOp>(made.getOperation());
  }

  // From the points to sums, [position][channel].
  void emitResults() {
    emitStart();
    loop(roles_.lanes, width_, [&](OpFoldResult lane) {
      Value start = load(start_, index(d(0), {lane}));
      overTiles([&](OpFoldResult tile, OpFoldResult row, OpFoldResult column) {
        SmallVector<Value> values;
        for (std::int64_t i = 0; i < tiles_.points(); ++i)
          values.push_back(load(
              products_, index(d(0) * roles_.lanes + d(1) + i * tiles_.pitch(roles_.lanes), {tile, lane})));
        values = transformOutput(b_, loc_, tiles_.results, values, options_.contraction);
        for (auto [i, value] : llvm::enumerate(values)) {
          const std::int64_t at = static_cast<std::int64_t>(i) / tiles_.results * tiles_.columns +
                                  static_cast<std::int64_t>(i) % tiles_.results;
          store(arith::AddFOp::create(b_, loc_, start, value), sums_,
                index((d(0) * tiles_.columns + d(1) + at) * roles_.lanes + d(2), {row, column, lane}));
        }
      });
    });
  }

  // What the panel's sums begin with, one number per channel.
  void emitStart() {
    const std::size_t before = product_.op->getNumOperands(), count = product_.init->getNumOperands();
    LoopNest own{{}, SmallVector<LoopNest::Place>(ArrayRef(nest_.operands).slice(before, count))};
    const NestLoop& channels = nest_.loops[roles_.channels];
    own.loops.push_back({channels.extent, channels.type,
                         SmallVector<std::int64_t>(ArrayRef(channels.strides).slice(before, count))});
    const unsigned result = product_.init.getDpsInitOperand(0)->getOperandNumber();
    own.operands[result] = {start_, b_.getIndexAttr(0)};
    own.loops.front().strides[result] = 1;
    auto made = cast<linalg::LinalgOp>(emitNest(b_, product_.init, own).getOperation());
    emitBlocks(b_, {made, {}, {}, {}}, options_);
  }

  void emitTransposedSums() {
    const NestLoop& rows = nest_.loops[roles_.rows];
    const std::int64_t stride = nest_.loops[roles_.channels].strides[roles_.result];
    const bool isOnePiece = rows.strides[roles_.result] == tiles_.columns;
    LoopNest nest{{{isOnePiece ? 1 : tiles_.rows,
                    rows.type,
                    {rows.strides[roles_.result], tiles_.columns * roles_.lanes}}},
                  {nest_.operands[roles_.result], {sums_, b_.getIndexAttr(0)}}};
    const std::int64_t positions = tiles_.rows * tiles_.columns / nest.loops.front().extent;
    walkLoop(b_, loc_, nest, 0, {0, nest.loops.front().extent, 1}, [&] {
      emitTransposed(b_, loc_, {sums_, roles_.lanes, width_, nest.operands[1].offset}, positions,
                     nest.operands[0], stride);
    });
  }

  FusedProduct product_;
  LoopNest nest_;
  WinogradRoles roles_;
  BlockOptions options_;
  std::int64_t steps_;  // channels of the input
  Value weights_;       // [panel][point][channel][lane]
  Value inputs_;        // [point][tile][channel], points a pitch apart
  Value products_;      // [point][tile][lane], likewise
  Value start_;         // [lane]
  Value sums_;          // [position][lane]
};

}  // namespace

bool emitWinograd(RewriterBase& rewriter, const FusedProduct& product, const BlockOptions& options) {
  OpBuilder::InsertionGuard guard(rewriter);
  if (!product.init) return false;  // the sums begin in scratch
  auto nest = nestOf(rewriter, product);
  if (!nest) return false;
  auto roles = findWinogradRoles(product, *nest, options.shape);
  if (!roles) return false;
  WinogradEmitter emitter(rewriter, product, std::move(*nest), std::move(*roles), options);
  if (!emitter.fits()) return false;
  emitter.emit();
  for (linalg::LinalgOp part : llvm::reverse(product.parts())) rewriter.eraseOp(part);
  return true;
}

}  // namespace kiln::schedule
